"""Policies that maintenance asks a catalog for: a server of ours, and a real Polaris."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.maintain.pass_report import PassReport
from tests.pyiceberg.polaris_lake import PolarisLake, lake_of_polaris
from tests.stack.like_polaris import PolarisLikeServer, policy
from tests.stack.polaris import Polaris

ASKED = {"polaris-policies": "lake"}


def content(config: Mapping[str, str] | None = None, *, enable: bool = True) -> str:
    return json.dumps({"version": "2025-02-03", "enable": enable, "config": config or {}})


def decided(report: PassReport) -> dict[str, tuple[str, str]]:
    return {
        str(each.table): (each.decision.action, each.decision.reason)
        for each in report.tables
        if each.decision is not None
    }


def test_what_a_policy_enables_is_maintained(polaris_lake: PolarisLake) -> None:
    lake = polaris_lake
    lake.create("u")
    assert lake.run(ASKED, dry_run=True).tables == ()
    lake.attach("all", content({"triggers.commit-count": "3"}))
    found = lake.run(ASKED, dry_run=True)
    assert found.errors == ()
    assert decided(found) == {f"lake.db.{name}": ("rewrite", "commit-count 8 of 3") for name in "tu"}

    # What is attached closer is all that applies.
    lake.attach("these", content({"triggers.commit-count": "100"}), "db")
    lake.attach("this", content(enable=False), "db", "u")
    assert decided(lake.run(ASKED, dry_run=True)) == {
        "lake.db.t": ("leave", "no trigger is met: commit-count 8 of 100"),
        "lake.db.u": ("leave", "the policy says enabled: false"),
    }


def test_a_policy_is_carried_out_and_the_rules_of_the_file_win(polaris_lake: PolarisLake) -> None:
    lake = polaris_lake
    lake.create("u")
    lake.attach("all", content({"by": "zorder(y, x)", "triggers.commit-count": "100", "conflicts.markers": "false"}))
    asked: dict[str, Any] = {"polaris-policies": ["lake"], "tables": {"db.t": {"triggers": {"commit-count": 8}}}}
    asked["defaults"] = {"by": "x", "options": {"min-age-seconds": 0, "target-file-size-bytes": 40000}}
    report = lake.run(asked)
    assert decided(report) == {
        "lake.db.t": ("rewrite", "commit-count 8 of 8"),
        "lake.db.u": ("leave", "no trigger is met: commit-count 8 of 100"),
    }
    head = lake.table().current_snapshot()
    assert head is not None
    assert head.summary is not None
    assert head.summary["zorder.columns"] == "y,x"
    assert "lakekeeper.rollbackable" not in head.summary.additional_properties


def test_a_wrong_policy_stops_no_other_table(polaris_lake: PolarisLake) -> None:
    lake = polaris_lake
    lake.create("u")
    lake.attach("all", content())
    # Polaris looks at no key of config.
    lake.attach("wrong", content({"triggers.scan-ratio": "0.3"}), "db", "u")
    report = lake.run(ASKED)
    assert report.errors == ()
    assert {str(each.table): each.error for each in report.tables} == {
        "lake.db.t": None,
        "lake.db.u": "lake.db.u: Cannot use policy 'wrong' of Polaris, because triggers.scan-ratio: 0.3 is not a number "
        "of at least 1",
    }
    assert report.has_failed
    assert report.rewritten_bytes > 0


@pytest.mark.full
def test_namespaces_inside_others(tmp_path: Path, duck: duckdb.DuckDBPyConnection, real_polaris: Polaris) -> None:
    lake = lake_of_polaris(tmp_path, duck, real_polaris)
    lake.catalog.create_namespace("db.inner")
    made = lake.catalog.create_table("db.inner.v", pa.schema([("x", pa.int64()), ("y", pa.int64())]))
    lake.attach("these", content({"triggers.commit-count": "1"}), "db")
    report = lake.run(ASKED, dry_run=True)
    assert made.name() == ("db", "inner", "v")
    assert (report.errors, sorted(decided(report))) == ((), ["lake.db.inner.v", "lake.db.t"])


def test_what_is_not_told_to_ask_does_not(polaris_lake: PolarisLake) -> None:
    polaris_lake.attach("all", content(enable=False))
    report = polaris_lake.run({"tables": {"*": {}}}, dry_run=True)
    assert [action for action, _ in decided(report).values()] == ["rewrite"]


@pytest.fixture
def lake(lake_of_ours: PolarisLake) -> PolarisLake:
    """Faults cannot be had from a healthy server."""
    return lake_of_ours


@pytest.fixture
def server(lake: PolarisLake) -> PolarisLikeServer:
    assert lake.ours is not None
    return lake.ours


def error(code: int, kind: str, text: str = "told to") -> tuple[int, Any]:
    return code, {"error": {"message": text, "type": kind, "code": code}}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (error(401, "NotAuthorizedException"), "NotAuthorizedException: told to"),
        (error(400, "BadRequestException"), "BadRequestException: told to"),
        ((404, {"timestamp": "now", "status": 404}), "RESTError 404: Received unexpected JSON Payload"),
        (error(404, "NotFoundException", "no such address"), "NotFoundException: no such address"),
        (error(501, "NotImplementedException"), "NotImplementedException: told to"),
        (error(500, "IllegalStateException"), "IllegalStateException: told to"),
        ((200, {"policies": []}), "the answer has no list applicable-policies"),
        ((200, {"applicable-policies": ["p"]}), "the answer has no list applicable-policies"),
        ((200, []), "the answer has no list applicable-policies"),
        ((200, {"applicable-policies": [], "next-page-token": "again"}), "the answer has more than 1,000 pages"),
    ],
    ids=["401", "400", "404 of none", "404", "501", "500", "another answer", "no policies", "a list", "endless"],
)
def test_a_catalog_that_does_not_answer_as_polaris_fails_alone(
    lake: PolarisLake, server: PolarisLikeServer, tmp_path: Path, answer: tuple[int, Any], why: str
) -> None:
    server.policies = lambda _: answer
    pond = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    with closing(SqlCatalog("pond", **pond)) as other:
        other.create_namespace("db")
        other.create_table("db.t", pa.schema([("x", pa.int64()), ("y", pa.int64())]))
    catalogs = {"lake": dict(lake.properties), "pond": pond}
    report = lake.run({**ASKED, "catalogs": catalogs, "tables": {"*": {}}}, dry_run=True)
    assert list(decided(report)) == ["pond.db.t"]
    (said,) = report.errors
    before = "Cannot list the tables of catalog lake, because it was asked for the policies of lake.db.t, as Polaris has them: "
    assert said.startswith(before + why)
    assert len(said) < len(before) + 310


def test_a_catalog_that_is_no_rest_catalog_has_none(lake: PolarisLake, tmp_path: Path) -> None:
    pond = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    report = lake.run({"polaris-policies": "pond", "catalogs": {"pond": pond}})
    assert report.errors == (
        "Cannot list the tables of catalog pond, because catalog pond has no policies of Polaris: it is none of type rest",
    )


def test_a_server_that_is_busy_is_asked_again(lake: PolarisLake, server: PolarisLikeServer) -> None:
    answers = iter([error(503, "ServiceUnavailableException"), (200, {"applicable-policies": []})])
    server.policies = lambda _: next(answers)
    assert lake.run(ASKED).errors == ()
    assert list(answers) == []


def test_a_token_that_has_expired_is_renewed(lake: PolarisLake, server: PolarisLikeServer) -> None:
    server.token = "first"
    seen = []

    def expire() -> None:
        seen.append(server.token)
        server.token = f"after {server.token}"

    server.before_list = expire
    server.attached[()] = ("all", content())
    properties = {**lake.properties, "credential": "id:secret", "oauth2-server-uri": f"{server.uri}/v1/oauth/tokens"}
    report = lake.run({**ASKED, "catalogs": {"lake": properties}}, dry_run=True)
    assert (report.errors, list(decided(report)), seen) == ((), ["lake.db.t"], ["first"])


def test_pages_are_read_to_the_last(lake: PolarisLake, server: PolarisLikeServer) -> None:
    asked: list[Mapping[str, str]] = []

    def pages(said: Mapping[str, str]) -> tuple[int, Any]:
        asked.append(said)
        page = int(said.get("pageToken", "0"))
        found = [policy("last", content({"triggers.commit-count": "5"}))] if page == 2 else []
        return 200, {"applicable-policies": found, "next-page-token": None if page == 2 else str(page + 1)}

    server.policies = pages
    report = lake.run(ASKED, dry_run=True)
    assert decided(report) == {"lake.db.t": ("rewrite", "commit-count 8 of 5")}
    target = {"namespace": "db", "target-name": "t", "policyType": "system.data-compaction"}
    assert asked == [target, {**target, "pageToken": "1"}, {**target, "pageToken": "2"}]


def test_a_table_that_is_gone_has_no_policies(lake: PolarisLake, server: PolarisLikeServer) -> None:
    server.policies = lambda _: error(404, "NoSuchTableException", "Table does not exist: db.t")
    report = lake.run(ASKED)
    assert (report.errors, report.tables) == ((), ())


def test_what_may_not_be_asked_for(lake: PolarisLake, server: PolarisLikeServer) -> None:
    forbidden = error(403, "ForbiddenException", "Principal 'm' is not authorized")
    for name in ("u", "v"):
        lake.create(name)
    rules = {**ASKED, "tables": {"db.[tu]": {}}}
    may_not = {"u", "v"}
    server.policies = lambda said: (
        forbidden if said["target-name"] in may_not else (200, {"applicable-policies": [], "next-page-token": ""})
    )
    report = lake.run(rules, dry_run=True)
    assert (report.errors, list(decided(report))) == ((), ["lake.db.t"])
    assert {str(each.table): each.error for each in report.tables if each.error} == {
        "lake.db.u": "lake.db.u: Cannot honour its policies of Polaris, because ForbiddenException: Principal 'm' is not "
        "authorized"
    }
    may_not |= {"t"}
    report = lake.run(rules, dry_run=True)
    assert report.tables == ()
    assert report.errors == (
        "Cannot list the tables of catalog lake, because ForbiddenException: Principal 'm' is not authorized",
    )
