"""What can be watched of ``maintain``: its log, its metrics and its health, none of which tells a secret."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote_plus
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyiceberg.catalog import Catalog

from tests.cli.processes import run_here
from tests.cli.test_maintain_command import catalog, command, home, maintain, table, write_policy
from tests.maintain.lake import append, rows_of
from tests.stack.running import Answering, running
from tests.stack.servers import free_port

__all__ = ["catalog", "home"]
SECRETS = ("s3cret-of-the-uri", "s3cret-key", "s3cret-token")


def samples(text: str) -> dict[tuple[str, str], float]:
    found = (each for family in text_string_to_metric_families(text) for each in family.samples)
    return {(each.name, each.labels.get("table", each.labels.get("outcome", ""))): each.value for each in found}


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read(port: int, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)


@contextmanager
def watching(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    words, environment = command(home, "--watch", "--output", "json", *arguments)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, env=environment, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def test_the_log_tells_all_that_happens(home: Path, catalog: Catalog) -> None:
    write_policy(home)
    table(catalog, "db.needy", 8)
    table(catalog, "db.by_time", 8)
    log = home / "passes.jsonl"
    maintain(home, "--dry-run", "--log-file", str(log))
    dry = events(log)
    assert [each["event"] for each in dry] == ["pass-began", "table-decided", "table-decided", "pass-ended"]
    assert dry[0]["dry_run"] is True
    report = maintain(home, "--log-file", str(log))
    found = events(log)[len(dry) :]
    assert [each["event"] for each in found] == [
        "pass-began", "table-decided", "rewrite-began", "rewrite-ended", "table-decided", "pass-ended",
    ]  # fmt: skip
    assert len({each["pass"] for each in dry}) == len({each["pass"] for each in found}) == 1
    assert dry[0]["pass"] != found[0]["pass"]
    assert all(each["time"].endswith("+00:00") for each in found)
    assert found[3] == {**found[3], **report["tables"][0]}
    assert found[2]["bytes"] == report["rewritten_bytes"] == found[5]["rewritten_bytes"]
    assert (found[5]["tables"], found[5]["conflicts"], found[5]["failures"]) == (2, 0, 0)


def test_metrics_are_written_to_a_file(home: Path, catalog: Catalog) -> None:
    write_policy(home)
    table(catalog, "db.needy", 8)
    file = home / "zorder.prom"
    report = maintain(home, "--metrics-textfile", str(file))
    found = samples(file.read_text(encoding="utf-8"))
    assert found["iceberg_zorder_passes_total", "done"] == 1
    assert found["iceberg_zorder_passes_total", "failed"] == 0
    assert found["iceberg_zorder_rewritten_bytes_total", "lake.db.needy"] == report["rewritten_bytes"]
    assert found["iceberg_zorder_rewritten_files_total", "lake.db.needy"] == 8
    assert found["iceberg_zorder_table_files", "lake.db.needy"] == 8
    assert found["iceberg_zorder_table_expected_saved_bytes", "lake.db.needy"] > 0
    assert abs(found["iceberg_zorder_last_successful_pass_timestamp_seconds", ""] - time.time()) < 600
    assert [each.name for each in home.glob("zorder.prom*")] == ["zorder.prom"]


def test_metrics_and_health_are_served_beside_the_passes(home: Path, catalog: Catalog) -> None:
    write_policy(home)
    needy, port = table(catalog, "db.needy", 8), free_port()
    with watching(home, "--metrics-port", str(port)) as process:

        def passes() -> float:
            try:
                return samples(read(port, "metrics")[1])["iceberg_zorder_passes_total", "done"]
            except OSError:
                return -1

        wait_for(lambda: passes() >= 1)
        assert read(port, "health") == (200, '{"status": "ok"}')
        assert read(port, "other")[0] == 404
        before = samples(read(port, "metrics")[1])["iceberg_zorder_rewritten_files_total", "lake.db.needy"]
        append(needy.refresh(), 8)
        wait_for(
            lambda: samples(read(port, "metrics")[1])["iceberg_zorder_rewritten_files_total", "lake.db.needy"] > before
        )
        assert len(rows_of(needy)) == 32_000
        listening = Path(f"/proc/{process.pid}/net/tcp").read_text(encoding="utf-8")
        assert f"0100007F:{port:04X} 00000000:0000 0A" in listening, "nobody else may reach it"
    assert process.returncode == 143


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--metrics-port", "9000"), "Cannot use --metrics-port, because it needs --watch"),
        (("--watch", "--metrics-port", "99999"), "Cannot use --metrics-port 99999, because "),
        (("--log-file", "missing/log"), "Cannot write --log-file missing/log, because "),
        (("--metrics-textfile", "missing/file"), "Cannot write --metrics-textfile missing/file, because "),
        (
            ("--metrics-textfile", "policy.yaml"),
            "Cannot use --metrics-textfile policy.yaml, because that file holds no metrics",
        ),
    ],
)
def test_what_cannot_be_watched_by_is_refused(
    home: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], why: str
) -> None:
    write_policy(home)
    made = table(catalog, "db.needy", 8)
    words, environment = command(home, *arguments, "--output", "json", "--quiet")
    monkeypatch.chdir(home)
    done = run_here(words[3:], environment)
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["error"]["message"].startswith(why)
    assert made.refresh().metadata_location == made.metadata_location


@pytest.mark.parametrize("works", [True, False])
def test_no_secret_is_told_anywhere(home: Path, catalog: Catalog, works: bool) -> None:
    table(catalog, "db.needy", 8)
    uri = f"sqlite:///{home}/catalog.db" if works else f"postgresql://me:{SECRETS[0]}@127.0.0.1:{free_port()}/no"
    (home / "policy.yaml").write_text(
        f"""
version: 1
interval: 1 second
catalogs:
  lake:
    type: sql
    uri: ${{LAKE_URI}}
    warehouse: {home}/warehouse
    s3.secret-access-key: ${{LAKE_KEY}}
    token: {SECRETS[2]}
tables:
  "db.*": {{by: [a, b], options: {{min-age-seconds: 0}}}}
"""
    )
    port, log, file = free_port(), home / "log", home / "zorder.prom"
    arguments = ("--metrics-port", str(port), "--log-file", str(log), "--metrics-textfile", str(file))
    os.environ |= {"LAKE_URI": uri, "LAKE_KEY": SECRETS[1]}
    try:
        with watching(home, *arguments) as process:
            # When the second pass has begun, all has been said of the first.
            wait_for(lambda: log.exists() and sum(each["event"] == "pass-began" for each in events(log)) > 1)
            wait_for(lambda: read(port, "health")[0] == (200 if works else 503))
            served = read(port, "health")[1] + read(port, "metrics")[1]
            process.send_signal(signal.SIGTERM)
            told = "".join(process.communicate(timeout=120))
    finally:
        del os.environ["LAKE_URI"], os.environ["LAKE_KEY"]
    said = [served, told, log.read_text(encoding="utf-8"), file.read_text(encoding="utf-8")]
    assert ("Cannot reach catalog lake at " in told) is not works
    for secret in SECRETS:
        assert not any(secret in each for each in said)


class _Echo(Answering):
    """A catalog that refuses each request, and says why by repeating all of it, as careless servers and proxies do."""

    def do_GET(self) -> None:  # noqa: N802
        body = self.body().decode()
        why = f"refused: {dict(self.headers)} {body} {unquote_plus(body)}"
        self.reply(400, {"error": {"message": why, "type": "BadRequestException", "code": 400}})


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    with running(ThreadingHTTPServer(("127.0.0.1", 0), _Echo)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.mark.parametrize(
    ("properties", "environment"),
    [
        ('{type: rest, uri: "ECHO", token: "${HIDDEN}"}', {"HIDDEN": "s3cret-token"}),
        ('{type: rest, uri: "ECHO", token: "${HIDDEN}"}', {"HIDDEN": "s3cret-token\n"}),
        ('{type: rest, uri: "ECHO", token: "s3cret-token\\u00e9\\n"}', {}),
        ('{type: rest, uri: "ECHO", credential: "${HIDDEN}"}', {"HIDDEN": "me:s3cret-token"}),
        ('{type: rest, uri: "ECHO", credential: "${HIDDEN}"}', {"HIDDEN": "me:s3cret-token/+%\n"}),
        ('{type: rest, uri: "ECHO", header.X-Api-Key: "s3cret-token\\n"}', {}),
        ('{type: sql, uri: "nosuch://me:s3cret-token/x@127.0.0.1:1/x"}', {}),
        ('{type: sql, uri: "nosuch://127.0.0.1:1/x?password=s3cret-token"}', {}),
        ('{type: sql, uri: "nosuch://me:s3cret-token@127.0.0.1:1/x?name=z@prod"}', {}),
        ('{type: sql, uri: "postgresql://me:s3cret-token@127.0.0.1:1,you:s3cret-too@127.0.0.1:1/x"}', {}),
        ('{type: sql, uri: "${HIDDEN}"}', {"HIDDEN": "postgresql://me:s3cret-token@127.0.0.1:1/x"}),
        ("{}", {"TYPE": "rest", "URI": "ECHO", "TOKEN": "s3cret-token"}),
        ("{}", {"TYPE": "rest", "URI": "ECHO", "TOKEN": "s3cret-token\n"}),
        ("{}", {"TYPE": "rest", "URI": "ECHO", "CREDENTIAL": "me:s3cret-token"}),
        ("{}", {"TYPE": "sql", "URI": "nosuch://me:s3cret-token@127.0.0.1:1/x"}),
    ],
)
def test_no_secret_is_told_whatever_is_said_of_it(
    home: Path, echo: str, monkeypatch: pytest.MonkeyPatch, properties: str, environment: dict[str, str]
) -> None:
    (home / "policy.yaml").write_text(
        f"version: 1\ncatalogs:\n  lake: {properties.replace('ECHO', echo)}\ntables: {{'*': {{by: a}}}}\n"
    )
    log = home / "log"
    words, own = command(home, "--output", "json", "--log-file", str(log))
    prefix = "" if "HIDDEN" in environment else "PYICEBERG_CATALOG__LAKE__"
    given = {f"{prefix}{key}": value.replace("ECHO", echo) for key, value in environment.items()}
    monkeypatch.chdir(home)
    done = run_here(words[3:], {**own, **given})
    assert done.returncode == 1, done.stderr
    said = done.stdout + done.stderr + log.read_text(encoding="utf-8")
    assert "Cannot list the tables of catalog lake" in said or "Cannot reach catalog lake at " in said
    assert "s3cret" not in said
