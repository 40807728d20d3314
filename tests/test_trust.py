"""Who may try what: a principal who has one right gains no other by it. Each attempt is refused, or harmless."""

import ast
import json
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch
from urllib.request import urlopen

import pyarrow as pa
import pytest
import sqlglot
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

import iceberg_zorder
from iceberg_zorder.cli.files import replace_text
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.metrics import Health, PassMetrics, serve
from iceberg_zorder.maintain.policy.catalogs import masked, secrets_of
from iceberg_zorder.pyiceberg import RewritePlan, plan_rewrite, rewrite_data_files
from iceberg_zorder.pyiceberg.catalog import is_not_committed, retrying
from iceberg_zorder.pyiceberg.plan.rewrite_spec import remember
from iceberg_zorder.pyiceberg.rewrite import execute
from iceberg_zorder.pyiceberg.undo import rollback_sql
from tests.cli.processes import run_here
from tests.stack.running import Answering, running


@dataclass(frozen=True)
class Lake:
    """A table of three files, and a directory that holds nothing else."""

    catalog: SqlCatalog
    home: Path
    table: Table

    def set(self, name: str, value: str) -> None:
        self.table.transaction().set_properties({name: value}).commit_transaction()

    def refused(self, reason: str, act: Callable[[], object]) -> None:
        """Nothing is written, and the reason is told."""
        before = self.files()
        with pytest.raises(InvalidInputError, match=reason):
            act()
        assert self.files() == before

    def files(self) -> list[Path]:
        return sorted(self.home.rglob("*"))


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    (tmp_path / "lake").mkdir()
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/lake/catalog.db", warehouse=f"file://{tmp_path}/lake")
    catalog.create_namespace("db")
    rows = pa.table({"a": range(300), "b": [each * 7 % 300 for each in range(300)]})
    table = catalog.create_table("db.t", rows.schema)
    for start in (0, 100, 200):
        table.append(rows.slice(start, 100))
    yield Lake(catalog, tmp_path, table)
    catalog.close()


def test_nobody_who_sets_properties_has_rows_spilled_to_a_directory_of_their_choice_or_a_directory_made(
    lake: Lake,
) -> None:
    there = lake.home / "made" / "by a property"
    lake.set("zorder.options", f"rewrite-all=true; spill-directory={there}")
    acts: tuple[Callable[..., object], ...] = (plan_rewrite, rewrite_data_files)
    for act in acts:
        lake.refused("'spill-directory=.*' is a directory of the machine", partial(act, lake.table, "zorder(a, b)"))
    lake.refused("is a directory of the machine", lambda: remember(lake.table, "a", {"spill-directory": str(there)}))


def test_nobody_who_sets_properties_has_a_plan_make_a_directory(lake: Lake) -> None:
    there = lake.home / "new" / "directory"
    plan_rewrite(lake.table, "zorder(a, b)", options={"rewrite-all": True, "spill-directory": str(there)})
    assert not there.parent.exists()
    rewrite_data_files(lake.table, "zorder(a, b)", options={"rewrite-all": True, "spill-directory": str(there)})
    assert list(there.iterdir()) == []


def test_nobody_who_sets_properties_has_code_run_by_a_script_in_a_value(lake: Lake) -> None:
    evil = "a = 1 OR '<script>alert(1)</script>\x1b[31m' = b"
    lake.set("zorder.workload", json.dumps({"version": 1, "queries": [{"filter": evil, "weight": 1}]}))
    with pytest.raises(InvalidInputError):
        rewrite_data_files(lake.table, "zorder(a, b)")
    environment = {"HOME": str(lake.home), "PYICEBERG_CATALOG__LAKE__URI": lake.catalog.properties["uri"]}
    done = run_here(["rewrite", "db.t", "--by", "a,b", "--catalog", "lake"], environment)
    assert done.returncode == 2
    assert "\x1b" not in done.stdout + done.stderr


def test_nobody_who_names_tables_breaks_out_of_the_statement_that_undo_prints(lake: Lake) -> None:
    for name in ("t\\', 1); DROP TABLE db.t; --", "t'", "t\\", "${t}"):
        table = lake.catalog.create_table(("db", name), lake.table.schema())
        statement = rollback_sql(table, "main", 7).removeprefix("CALL ")
        literal = next(
            each for each in sqlglot.tokenize(statement, dialect="spark") if each.token_type.name == "STRING"
        )
        assert literal.text.replace("$\\{", "${") == f"db.`{name}`"
        assert statement.endswith(f"{statement[literal.start : literal.end + 1]}, 7)")


def test_nobody_who_writes_a_plan_has_rows_spilled_to_a_directory_of_their_choice_or_a_directory_made(
    lake: Lake,
) -> None:
    there = lake.home / "new" / "directory"
    plan = plan_rewrite(lake.table, "zorder(a, b)", options={"rewrite-all": True, "spill-directory": str(there)})
    found = plan.to_dict()
    assert found["options"] == {"rewrite-all": "true"}
    found["options"]["spill-directory"] = str(there)
    lake.refused("because its option spill-directory is for who", lambda: RewritePlan.from_json(json.dumps(found)))
    execute(lake.table, RewritePlan.from_json(plan.to_json()))
    assert not there.parent.exists()


def test_nobody_who_sets_properties_has_a_commit_wait_for_hours(lake: Lake) -> None:
    for huge in (10**9, 10**400):
        names = ("num-retries", "min-wait-ms", "max-wait-ms", "total-timeout-ms")
        seconds, waits = [0.0], list[float]()

        def sleep(wait: float, seconds: list[float] = seconds, waits: list[float] = waits) -> None:
            waits.append(wait)
            seconds[0] += wait

        def fail() -> None:
            raise ConnectionRefusedError

        with patch("time.monotonic", lambda seconds=seconds: seconds[0]):
            retry = retrying({f"commit.retry.{name}": str(huge) for name in names}, is_not_committed)
            with pytest.raises(ConnectionRefusedError):
                retry.copy(sleep=sleep)(fail)
        assert max(waits) == 60
        assert sum(waits) == 1800
        assert len(waits) == 30


def test_no_neighbour_has_a_file_of_theirs_overwritten_or_reads_a_file_that_is_written(lake: Lake) -> None:
    victim, page = lake.home / "victim", lake.home / "page.html"
    victim.write_text("mine")
    (lake.home / f".{os.getpid()}.part").symlink_to(victim)
    replace_text(page, "<html>", flag="--html")
    assert (victim.read_text(), page.read_text(), page.is_symlink()) == ("mine", "<html>", False)
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    page.chmod(0o640)
    replace_text(page, "<html>2", flag="--html")
    assert (page.read_text(), stat.S_IMODE(page.stat().st_mode)) == ("<html>2", 0o640)


def test_no_neighbour_has_the_file_of_metrics_follow_a_link_of_theirs(lake: Lake) -> None:
    victim, file = lake.home / "victim", lake.home / "z.prom"
    victim.write_text("mine")
    (lake.home / f"z.prom.{os.getpid()}.{threading.current_thread().ident}").symlink_to(victim)
    policy = lake.home / "policy.yaml"
    policy.write_text(
        f"version: 1\ncatalogs: {{lake: {{uri: '{lake.catalog.properties['uri']}'}}}}\ntables: {{'db.t': {{}}}}"
    )
    run_here(["maintain", str(policy), "--metrics-textfile", str(file), "--dry-run"], {"HOME": str(lake.home)})
    assert victim.read_text() == "mine"
    assert "iceberg_zorder_passes_total" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_no_neighbour_reads_a_file_that_replaces_theirs(lake: Lake) -> None:
    page = lake.home / "page.html"
    page.touch(mode=0o666)
    page.chmod(0o666)
    with patch("os.geteuid", return_value=page.stat().st_uid + 1):
        replace_text(page, "<html>", flag="--html")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_no_neighbour_has_health_checks_fail_by_slow_requests(lake: Lake) -> None:
    now = datetime.now(timezone.utc)
    with ExitStack() as stack:
        stack.enter_context(patch("iceberg_zorder.maintain.metrics._SECONDS", 3.0))
        server = serve(0, PassMetrics(), Health(timedelta(hours=1), lambda: now))
        stack.callback(server.shutdown)
        address = ("127.0.0.1", server.server_port)
        slow = [stack.enter_context(socket.create_connection(address, timeout=30)) for _ in range(16)]
        ended = time.monotonic() + 5
        while time.monotonic() < ended:
            for each in slow:
                # Never silent for long.
                with suppress(OSError):
                    each.sendall(b"G")
            with urlopen(f"http://127.0.0.1:{server.server_port}/health", timeout=2) as answer:
                assert json.loads(answer.read()) == {"status": "ok"}
            time.sleep(0.2)
        for each in slow:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""


def test_no_neighbour_keeps_connections_to_the_metrics_open_or_reaches_them_from_another_machine(lake: Lake) -> None:
    now = datetime.now(timezone.utc)
    server = serve(0, PassMetrics(), Health(timedelta(hours=1), lambda: now))
    with ExitStack() as stack:
        stack.callback(server.shutdown)
        assert server.server_address[0] == "127.0.0.1"
        held = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.server_port), timeout=30))
            for _ in range(100)
        ]
        before = threading.active_count()
        assert before < 60
        # All that are silent are closed, most of them at once.
        assert [each.recv(1) for each in held] == [b""] * len(held)
        for _ in range(50):
            with suppress(OSError), urlopen(f"http://127.0.0.1:{server.server_port}/health", timeout=10) as answer:
                assert json.loads(answer.read()) == {"status": "ok"}
                break
            time.sleep(0.1)
        else:
            pytest.fail("the metrics are not served any more")


EXCHANGED = "Exchanged/Access+Token"


class _Echo(Answering):
    def do_GET(self) -> None:  # noqa: N802
        if self.path.startswith("/late/v1/config"):
            self.reply(200, {"defaults": {}, "overrides": {}})
        else:
            told = f"no: {dict(self.headers)}, {self.headers['Authorization'].split()[-1]}"
            self.reply(403, {"error": {"message": told, "type": "Forbidden", "code": 403}})

    def do_POST(self) -> None:  # noqa: N802
        assert self.path.endswith("/oauth/tokens")
        self.body()
        self.reply(200, {"access_token": EXCHANGED, "token_type": "bearer", "expires_in": 3600})


COMMANDS = {
    "rewrite": ("--by", "a"),
    "plan": ("--by", "a"),
    "report": (),
    "set": ("--by", "a"),
    "history": (),
    "undo": (),
    "check": (),
    "workload": ("--from", os.devnull),
    "advise": ("--workload", os.devnull),
    "init": (),
}


def test_no_catalog_has_the_token_told_by_any_command_as_text_or_as_json(lake: Lake) -> None:
    with running(ThreadingHTTPServer(("127.0.0.1", 0), _Echo)) as server:
        uri = f"http://127.0.0.1:{server.server_port}"
        name = "PYICEBERG_CATALOG__REST__"
        environment = {"HOME": str(lake.home), f"{name}URI": uri, f"{name}TOKEN": "s3cret-token", f"{name}TYPE": "rest"}
        for command, arguments in COMMANDS.items():
            for kind in ("text", "json"):
                words = [command, *([] if command == "init" else ["db.t"]), *arguments, "--catalog", "rest"]
                done = run_here([*words, "--output", kind], environment)
                said = done.stdout + done.stderr
                assert done.returncode == 1, (command, said)
                assert "Bearer ***" in said, (command, said)
                assert "s3cret-token" not in said, command


def test_no_catalog_has_told_what_pyiceberg_exchanged_for_the_credential_or_a_header(lake: Lake) -> None:
    with running(ThreadingHTTPServer(("127.0.0.1", 0), _Echo)) as server:
        uri = f"http://127.0.0.1:{server.server_port}"
        name = "PYICEBERG_CATALOG__REST__"
        secrets = {f"{name}CREDENTIAL": "id:client-secret", f"{name}HEADER__COOKIE": "sid=cookie-value; b=other"}
        secrets[f"{name}OAUTH2_SERVER_URI"] = f"{uri}/oauth/tokens"
        # A catalog may refuse to tell its configuration, or to load a table.
        for place in ("", "/late"):
            environment = {"HOME": str(lake.home), f"{name}URI": uri + place, f"{name}TYPE": "rest", **secrets}
            for command, arguments in COMMANDS.items():
                words = [command, *([] if command == "init" else ["db.t"]), *arguments, "--catalog", "rest"]
                done = run_here([*words, "--output", "json"], environment)
                said = done.stdout + done.stderr
                assert (done.returncode, "Bearer ***" in said) == (1, True), (command, said)
                assert "PyIceberg/" in said, "harmless headers are shown"
                for secret in (EXCHANGED, "client-secret", "cookie-value", "b=other"):
                    assert secret not in said, (command, said)


def test_no_catalog_has_a_token_written_to_the_log_of_passes_which_others_may_read(lake: Lake) -> None:
    policy, log = lake.home / "policy.yaml", lake.home / "passes.jsonl"
    for place in ("", "/late"):
        with running(ThreadingHTTPServer(("127.0.0.1", 0), _Echo)) as server:
            uri = f"http://127.0.0.1:{server.server_port}"
            rest = {"type": "rest", "uri": uri + place, "credential": "id:client-secret"}
            rest["oauth2-server-uri"] = f"{uri}/oauth/tokens"
            policy.write_text(json.dumps({"version": 1, "catalogs": {"rest": rest}, "tables": {"db.t": {}}}))
            words = ["maintain", str(policy), "--log-file", str(log), "--output", "json"]
            done = run_here(words, {"HOME": str(lake.home)})
        said = log.read_text() + done.stdout + done.stderr
        assert "Bearer ***" in said
        assert EXCHANGED not in said
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_no_catalog_has_a_token_told_that_only_spark_knows_or_that_cannot_be_read() -> None:
    assert (
        masked("Not authorized: Bearer eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl of me", ())
        == "Not authorized: Bearer *** of me"
    )
    assert masked("input_value={'access_token': 'c2lnbmF0dXJlc2lnbg'}", ()) == "input_value={'access_token': '***'}"
    assert masked("Bearer authentication is required", ()) == "Bearer authentication is required"


def test_no_catalog_has_a_part_of_a_password_told_that_a_library_takes_for_a_host_or_a_path() -> None:
    for mark in "/#?":
        secrets = secrets_of({"uri": f"http://me:first{mark}second@host:9/x"})
        assert masked(f"me:first has no port, /second@host:9/x, first{mark}second", secrets) == (
            "me:*** has no port, /***@host:9/x, ***"
        )
    # A path may have an @.
    secrets = secrets_of({"uri": "http://host:8181/catalog@main/"})
    assert masked("catalog lake at http://host:8181/", secrets) == "catalog lake at http://host:8181/"


def test_no_catalog_has_a_part_of_a_password_told_that_has_an_at() -> None:
    secrets = secrets_of({"uri": "postgresql://me:first@second@third@host/db"})
    said = 'could not translate host name "second@third@host", for me:first, or third@host'
    assert masked(said, secrets) == 'could not translate host name "***@***@host", for me:***, or ***@host'


def test_no_text_becomes_code() -> None:
    """No pickle, no eval, and of YAML only what makes no objects."""
    unsafe = {"eval", "exec", "compile", "__import__"}
    found = []
    for file in Path(iceberg_zorder.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {each.name.partition(".")[0] for each in node.names} | {getattr(node, "module", "") or ""}
                found += [(file.name, name) for name in names & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}]
            elif isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                is_unsafe = called in unsafe or called in ("yaml.load", "yaml.unsafe_load", "yaml.full_load")
                found += [(file.name, called)] if is_unsafe else []
    assert found == []
