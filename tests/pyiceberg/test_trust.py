"""Tables whose properties choose where their files are, or by whose credentials: only a catalog may."""

import ast
import inspect
import logging
import re
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyiceberg.io
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import fsspec
from pyiceberg.io import pyarrow as arrow_io
from pyiceberg.table import Table, TableProperties

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg import advise, execute, plan_rewrite, report, rewrite_data_files, undo
from iceberg_zorder.pyiceberg.catalog import CatalogConfiguration, load_table
from iceberg_zorder.pyiceberg.compat import _CHOOSING, load_catalog
from iceberg_zorder.pyiceberg.listing.dimensions import CatalogDimensions
from iceberg_zorder.workload.workload import Query, Workload
from tests.maintain.lake import append_at_once, policy_of
from tests.pyiceberg.committing import head_id
from tests.pyiceberg.maintain.test_leases import run
from tests.stack.rest import RestServer, rest_server
from tests.stack.running import Answering, running

KEY = {"s3.access-key-id": "mine", "s3.secret-access-key": "secret", "s3.region": "eu-west-1"}
REFUSED = r"^Cannot use the table of \S+metadata\.json, because its property {} would choose the code, the server"
ALL = {"rewrite-all": True}


@pytest.fixture
def made(catalog: SqlCatalog) -> Table:
    made = catalog.create_table("db.t", pa.schema([("x", pa.int64()), ("y", pa.int64())]))
    append_at_once(made)
    return made


def put(table: Table, properties: dict[str, str]) -> None:
    table.transaction().set_properties(properties).commit_transaction()


def of_commands(home: Path) -> Catalog:
    """The catalog as commands load it."""
    return load_catalog("lake", type="sql", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}", **KEY)


class Thief(Answering):
    """An S3 that keeps what it is sent."""

    sent: list[str]

    def keep(self) -> None:
        self.sent.append(f"{self.command} {self.path} {self.headers['Authorization']}")
        self.body()
        self.reply(403)

    do_HEAD = do_GET = do_POST = do_PUT = do_DELETE = keep  # noqa: N815


@pytest.fixture
def thief() -> Iterator[ThreadingHTTPServer]:
    Thief.sent = []
    with running(ThreadingHTTPServer(("127.0.0.1", 0), Thief)) as server:
        yield server


@pytest.mark.parametrize("is_callers", [True, False])
def test_rewritten_files_are_not_sent_to_a_server_of_the_table(
    catalog: SqlCatalog, made: Table, tmp_path: Path, thief: ThreadingHTTPServer, *, is_callers: bool
) -> None:
    """With the key of the catalog's configuration, which also signs the requests."""
    catalog.properties.update(KEY)
    own = {"s3.endpoint": f"http://127.0.0.1:{thief.server_port}", "write.data.path": "s3://lake/data"}
    put(made, own)
    with pytest.raises(InvalidInputError, match=REFUSED.format("s3.endpoint")):
        # The caller has loaded it before, or lets the command load it.
        rewrite_data_files(made if is_callers else of_commands(tmp_path).load_table("db.t"), ["x", "y"], options=ALL)
    assert Thief.sent == []
    assert head_id(made.refresh()) == made.metadata.snapshots[0].snapshot_id


def test_maintenance_sends_nothing_there_and_goes_on_with_other_tables(
    catalog: SqlCatalog, made: Table, tmp_path: Path, thief: ThreadingHTTPServer
) -> None:
    other = catalog.create_table("db.other", made.schema())
    append_at_once(other)
    put(made, {**KEY, "s3.endpoint": f"http://127.0.0.1:{thief.server_port}", "write.data.path": "s3://lake/data"})
    reports = {report.table.name: report for report in run(policy_of(tmp_path)).tables}
    assert re.search("because its property s3.access-key-id would choose", reports["t"].error or "")
    assert reports["other"].done is not None
    assert Thief.sent == []


@pytest.mark.parametrize(
    "use",
    [
        report,
        undo,
        lambda table: plan_rewrite(table, ["x"]),
        lambda table: advise(table, Workload.of([Query("x = 3", 1.0)])),
    ],
    ids=["report", "undo", "plan", "advise"],
)
def test_a_table_of_the_callers_catalog_is_refused(made: Table, use: Callable[[Table], object]) -> None:
    put(made, {"hdfs.host": "elsewhere"})
    with pytest.raises(InvalidInputError, match=REFUSED.format("hdfs.host")):
        use(made)


def test_a_plan_is_not_executed_once_a_property_chooses(catalog: SqlCatalog, made: Table) -> None:
    plan, before = plan_rewrite(made, ["x"], options=ALL), head_id(made)
    put(catalog.load_table("db.t"), {"gcs.service.host": "http://elsewhere"})
    with pytest.raises(InvalidInputError, match=REFUSED.format("gcs.service.host")):
        execute(made, plan)
    assert head_id(catalog.load_table("db.t")) == before


def test_a_property_that_comes_during_a_rewrite_ends_it(catalog: SqlCatalog, made: Table, tmp_path: Path) -> None:
    files, before = set(tmp_path.rglob("*.parquet")), head_id(made)

    def meanwhile(stage: str, *_: int) -> None:
        if stage == "write" and not came:
            came.append(stage)
            put(catalog.load_table("db.t"), {"s3.proxy-uri": "http://elsewhere"})

    came: list[str] = []
    with pytest.raises(RewriteFailedError, match=r"because its property s3\.proxy-uri would choose"):
        rewrite_data_files(of_commands(tmp_path).load_table("db.t"), ["x"], options=ALL, progress=meanwhile)
    assert head_id(catalog.load_table("db.t")) == before
    assert set(tmp_path.rglob("*.parquet")) == files


def test_a_dimension_whose_properties_choose_is_not_read(
    catalog: SqlCatalog, made: Table, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(made, {"adls.account-host": "elsewhere"})
    caplog.set_level(logging.WARNING)
    for each in (catalog, of_commands(tmp_path)):
        assert CatalogDimensions(each, ("db",)).find(("t",)) is None
    assert caplog.text.count("because its property adls.account-host would choose") == 2


def test_what_the_catalog_says_too_is_its_own_choice(catalog: SqlCatalog, made: Table, tmp_path: Path) -> None:
    catalog.properties.update(KEY)
    put(made, KEY)
    assert report(made, ["x"]).total_file_count == 8
    assert report(of_commands(tmp_path).load_table("db.t"), ["x"]).total_file_count == 8


@pytest.fixture
def server(catalog: SqlCatalog) -> Iterator[RestServer]:
    with rest_server(catalog) as running:
        yield running


def by_command(server: RestServer) -> Table:
    return load_table(CatalogConfiguration("lake", {"type": "rest", "uri": server.uri}), ("db", "t"))


def by_caller(server: RestServer) -> Table:
    table: Table = RestCatalog("lake", uri=server.uri).load_table("db.t")
    return table


@pytest.mark.parametrize("loaded", [by_command, by_caller])
@pytest.mark.parametrize("vends", ["config", "credentials"])
def test_what_a_rest_catalog_vends_counts(
    server: RestServer, made: Table, loaded: Callable[[RestServer], Table], vends: str
) -> None:
    put(made, {"s3.endpoint": "http://elsewhere"})
    with pytest.raises(InvalidInputError, match=REFUSED.format(r"s3\.endpoint")):
        report(loaded(server), ["x"])
    vended = {"s3.endpoint": "http://here"}
    if vends == "config":
        server.config = lambda: vended
    else:
        server.credentials = [{"prefix": made.location(), "config": vended}]
    table = loaded(server)
    assert report(table, ["x"]).total_file_count == 8
    assert table.io.properties["s3.endpoint"] == "http://here"


def test_a_table_cannot_have_the_token_sent_elsewhere(server: RestServer, made: Table) -> None:
    for name in ("uri", "token", "header.authorization", "s3.signer.uri"):
        put(made, {name: "http://elsewhere"})
        with pytest.raises(InvalidInputError, match=REFUSED.format(re.escape(name))):
            by_command(server)
        made.transaction().remove_properties(name).commit_transaction()


def _names_read(module: ModuleType) -> Iterator[str]:
    """The properties that the FileIOs of a module read."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        arguments: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            arguments = node.args[:1] if ast.unparse(node.func.value) in ("properties", "self.properties") else []
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("get_first_property_value", "property_as_bool"):
            arguments = node.args[1:]
        for each in arguments:
            name = vars(module).get(each.id) if isinstance(each, ast.Name) else getattr(each, "value", None)
            if isinstance(name, str):
                yield name


def test_every_property_that_fileios_read_is_the_catalogs() -> None:
    """A new release of PyIceberg may read others."""
    said = {value for name, value in vars(pyiceberg.io).items() if name.isupper() and isinstance(value, str)}
    dotted = {value for value in said if "." in value and not value.startswith("pyiceberg.") and "/" not in value}
    read = {name for module in (pyiceberg.io, fsspec, arrow_io) for name in _names_read(module)}
    of_tables = {value for name, value in vars(TableProperties).items() if name.isupper()}
    left = {name for name in {*dotted, *read} - of_tables if not _CHOOSING.fullmatch(name)}
    assert {"s3.endpoint", "hf.token", "py-io-impl", "gcs.service.host", "token"} <= {*dotted, *read}
    assert left == {"buffer-size"}
    assert _CHOOSING.fullmatch(TableProperties.WRITE_PY_LOCATION_PROVIDER_IMPL)
