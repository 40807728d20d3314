"""Tables of a policy, while others work on them."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ForbiddenError, NoSuchNamespaceError
from pyiceberg.table import Table
from pyiceberg.transforms import TruncateTransform

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError
from iceberg_zorder.maintain.decide import Decision, decide
from iceberg_zorder.maintain.maintenance_pass import LeftForNowError, MaintenancePass
from iceberg_zorder.maintain.notes import NOTES, Conflicts, Notes
from iceberg_zorder.maintain.observation import TableName
from iceberg_zorder.maintain.pass_report import TableReport
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.read import read_policy
from iceberg_zorder.maintain.policy.settings import Budget, TableSettings
from iceberg_zorder.passes import run_pass
from iceberg_zorder.pyiceberg import compat, rewrite_data_files
from iceberg_zorder.pyiceberg import group_rewrite as rewriting
from iceberg_zorder.pyiceberg.commit import replacement
from iceberg_zorder.pyiceberg.maintain import maintained_tables
from iceberg_zorder.pyiceberg.maintain.catalog_tables import FileLocations
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables
from iceberg_zorder.pyiceberg.plan.planner import current
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from tests.maintain.lake import append_at_once, lake_in, policy_of
from tests.present import present
from tests.pyiceberg.committing import BY_BYTES, commit_files, position_deletes
from tests.pyiceberg.lake import data_files, one_commit

NOW = datetime(2026, 11, 23, tzinfo=timezone.utc)
NAME = TableName("lake", ("a", "b"), "t")
OPTIONS = {"min-age-seconds": "0", "target-file-size-bytes": "40000"}


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return policy_of(tmp_path)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    found = load_catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"{tmp_path}/warehouse")
    for namespace in ("a", "a.b", "c"):
        found.create_namespace(namespace)
    return found


def table(catalog: Catalog, name: str) -> Table:
    made = catalog.create_table(name, pa.schema([("x", pa.int64()), ("y", pa.int64())]), properties=BY_BYTES)
    append_at_once(made)
    return made


def decided(tables: PyIcebergTables, policy: Policy) -> tuple[Decision, TableSettings]:
    assert NAME in list(tables.names("lake"))
    settings = present(tables.settings(NAME))
    found = tables.observe(NAME, settings, NOW)
    (decision,) = decide([(found, settings)], NOW, policy.budget)
    assert decision.action == "rewrite"
    return decision, settings


def test_tables_of_namespaces_inside_others_are_found(catalog: Catalog, policy: Policy) -> None:
    for name in ("a.b.t", "a.u", "c.v"):
        table(catalog, name)
    found = sorted(PyIcebergTables(policy).names("lake"))
    assert [str(each) for each in found] == ["lake.a.u", "lake.a.b.t", "lake.c.v"]


def test_what_another_pass_has_done_is_not_done_again(catalog: Catalog, policy: Policy) -> None:
    made = table(catalog, "a.b.t")
    tables = PyIcebergTables(policy)
    decision, settings = decided(tables, policy)
    rewrite_data_files(made, "x, y", options=OPTIONS)
    at = made.current_snapshot()
    with pytest.raises(LeftForNowError, match="^another maintainer has rewritten it since it was observed$"):
        tables.rewrite(decision, settings)
    assert made.refresh().current_snapshot() == at


def test_a_writer_that_comes_at_the_last_moment_has_won(
    catalog: Catalog, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = table(catalog, "a.b.t")
    tables = PyIcebergTables(policy)
    decision, settings = decided(tables, policy)

    def then_delete(table: Table, plan: RewritePlan) -> None:
        current(table, plan)
        made.delete("x < 1000000000")

    monkeypatch.setattr(maintained_tables, "current", then_delete)
    with pytest.raises(RewriteConflictError, match=r"because data file \S+ is no longer in the table. Nothing was rew"):
        tables.rewrite(decision, settings)


@pytest.mark.parametrize("lease", [True, False])
def test_a_table_that_had_conflicts_is_left_in_peace_by_other_processes_too(
    catalog: Catalog, policy: Policy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lease: bool
) -> None:
    made = table(catalog, "a.b.t")
    if not lease:
        policy = policy_of(tmp_path, ", conflicts: {lease: false}")

    def conflict(*_: object, **__: object) -> None:
        raise RewriteConflictError("a writer was first")

    def one_pass(minutes: int) -> tuple[str, bool]:
        """What a process decides and whether it rewrites, so many minutes after the first one."""
        now = NOW + timedelta(minutes=minutes)
        (found,) = MaintenancePass(policy, PyIcebergTables(policy, lambda: now), lambda: now).run().tables
        return present(found.decision).reason, found.done is not None

    def noted() -> Conflicts | None:
        return Notes.of(made.refresh().properties).conflicts

    pays = "scan-ratio 1.2: a rewrite pays", False
    with monkeypatch.context() as context:
        context.setattr(maintained_tables, "execute_with", conflict)
        assert one_pass(0) == pays
        assert noted() == (Conflicts(1, NOW + timedelta(minutes=10)) if lease else None)
        if not lease:
            return
        assert one_pass(9) == ("backing off until 2026-11-23 00:10:00Z after a conflict", False)
        assert one_pass(11) == pays
        assert noted() == Conflicts(2, NOW + timedelta(minutes=31))
        assert one_pass(30)[1] is False
        assert noted() == Conflicts(2, NOW + timedelta(minutes=31))
    assert one_pass(32) == (pays[0], True)
    assert noted() is None


def passed(policy: Policy, **how: Any) -> TableReport:
    """Run a pass over the only table, with ``clock``, ``work`` or ``stop``."""
    clock, work = how.get("clock", lambda: NOW), how.get("work", lambda *_: None)
    tables = PyIcebergTables(policy, clock)
    (found,) = MaintenancePass(policy, tables, clock, work=work).run(stop=how.get("stop", lambda: False)).tables
    return found


def parts(catalog: Catalog, count: int) -> Table:
    """Make a table of so many partitions, each of which needs a rewrite."""
    schema = pa.schema([("x", pa.int64()), ("y", pa.int64())])
    made = catalog.create_table("a.b.t", schema)
    made.update_spec().add_field("x", TruncateTransform(1), "part").commit()
    with one_commit(made) as commit:
        for seed in range(8):
            draw = np.random.default_rng(seed)
            rows = count * 2_000
            commit.append(pa.table({"x": np.arange(rows) % count, "y": draw.integers(0, 1 << 40, rows)}))
    return made


def test_what_a_table_says_wins_over_the_defaults_of_maintenance(
    catalog: Catalog, policy: Policy, tmp_path: Path
) -> None:
    made = table(catalog, "a.b.t")
    with made.transaction() as transaction:
        transaction.set_properties({"zorder.options": "min-age-seconds=86400; max-scan-ratio=1.7"})
    ageless = policy_of(tmp_path, options="target-file-size-bytes: 40000")
    found = passed(ageless, clock=lambda: datetime.now(timezone.utc))
    assert found.done is None
    assert found.decision is not None
    assert found.decision.reason == (
        "no trigger is met: scan-ratio 1.7: no rewrite pays; Nothing to rewrite in lake.a.b.t: 8 data files are skipped "
        "(younger than min-age-seconds 86,400)."
    )
    found = passed(policy, clock=lambda: datetime.now(timezone.utc))
    assert found.done is not None


def test_how_much_memory_a_maintainer_takes_no_table_says(catalog: Catalog, policy: Policy) -> None:
    made = table(catalog, "a.b.t")
    name = "memory-limit-bytes"
    made.transaction().set_properties({"zorder.options": f"{name}=9223372036854775807"}).commit_transaction()
    assert passed(policy).error == (
        f"lake.a.b.t: Cannot maintain lake.a.b.t with option {name} of its property zorder.options, because that "
        "option belongs to the maintainer's machine: set it in the policy, not in the property"
    )


def test_a_trigger_below_what_rewrites_act_on_is_told(catalog: Catalog, policy: Policy) -> None:
    table(catalog, "a.b.t")
    raised = "scan-ratio 1.02, raised to max-scan-ratio 1.2: {} rewrite pays"
    policy = replace(policy, defaults={"triggers": {"scan-ratio": 1.02}})
    settled = (
        "; Nothing to rewrite in lake.a.b.t: 6 data files are skipped (unchanged since a rewrite by the same request; "
        "a filter costs "
    )
    for reason in (raised.format("a"), f"no trigger is met: {raised.format('no')}{settled}"):
        found = passed(policy)
        assert (present(found.decision).reason[: len(reason)], found.error) == (reason, None)


def test_tables_whose_owners_opt_out_are_left_whatever_else_they_say(catalog: Catalog, policy: Policy) -> None:
    made = table(catalog, "a.b.t")
    with made.transaction() as transaction:
        transaction.set_properties({"zorder.options": "memory-limit-bytes=1; nonsense", "maintenance.disabled": "true"})
    found = passed(policy)
    assert (present(found.decision).reason, found.error) == ("the table property maintenance.disabled is true", None)


def test_no_work_begins_once_the_allowed_hours_are_over(catalog: Catalog, policy: Policy) -> None:
    table(catalog, "a.b.t")
    policy = replace(policy, defaults={"allowed-hours": "00:00-00:01"})
    times = iter([NOW])
    found = passed(policy, clock=lambda: next(times, NOW + timedelta(minutes=2)))
    assert (present(found.decision).reason, found.done) == ("outside allowed-hours when its turn came", None)


def test_no_file_group_begins_once_the_minutes_are_over(catalog: Catalog, policy: Policy) -> None:
    made = parts(catalog, 4)
    begun: list[str] = []

    def clock() -> datetime:
        return NOW + timedelta(minutes=10 if "write" in begun else 0)

    policy = replace(policy, budget=Budget(minutes=5), defaults={"options": {"max-concurrent-file-group-rewrites": 1}})
    found = passed(policy, clock=clock, work=lambda stage, *_: begun.append(stage))
    assert found.error is None
    assert found.done is not None
    assert found.done.rewritten_files == 8
    assert (found.done.message or "").endswith("3 file groups were not begun, because there was no time left.")
    rest = passed(policy)
    assert present(rest.done).rewritten_files == 24
    assert made.refresh().scan().count() == 4 * 16_000


def test_what_was_committed_before_a_failure_is_told(
    catalog: Catalog, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts(catalog, 4)
    submit, commits = compat.submit, iter(range(10))

    def silent(*arguments: Any) -> None:
        submit(*arguments)
        if next(commits) == 2:
            monkeypatch.setattr(replacement.TableCommit, "_load", lambda _: (_ for _ in ()).throw(OSError("no answer")))
            raise OSError("no answer")

    monkeypatch.setattr(replacement, "submit", silent)
    found = passed(replace(policy, defaults={"options": {"max-concurrent-file-group-rewrites": 1}}))
    assert "Cannot tell whether the rewrite" in present(found.error)
    assert found.done is not None
    assert found.done.rewritten_files == 16
    assert found.done.rewritten_bytes > 0
    assert not found.is_conflict


def test_a_rewrite_that_is_repeated_after_a_conflict_stays_within_the_budget(
    catalog: Catalog, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = table(catalog, "a.b.t")
    options = {"max-file-group-input-files": 2, "rewrite-all": True}
    sizes = [file.file_size_in_bytes for file in data_files(made)]
    budget = Budget(bytes=3 * max(sizes))
    policy = replace(policy, budget=budget, defaults={"options": options})
    write, seen = rewriting._GroupRewrite.write, list[str]()

    def delete_first(rewrite: Any, *arguments: Any) -> Any:
        found = write(rewrite, *arguments)
        if not seen:
            seen.extend(rewrite._group.paths)
            commit_files(made, position_deletes(made, [(seen[0], 0)]))
        return found

    monkeypatch.setattr(rewriting._GroupRewrite, "write", delete_first)
    found = passed(policy)
    assert (found.error, len(seen)) == (None, 2)
    done, decision = present(found.done), present(found.decision)
    assert (done.rewritten_files, done.rewritten_bytes) == (2, decision.size)
    assert decision.size <= present(budget.bytes) < sum(sizes)
    assert made.refresh().scan().count() == 15_999


@pytest.mark.parametrize(
    ("kept", "why"), [(0, "other operations changed the data files"), (10_000, "conflicted with another operation")]
)
def test_to_lose_all_to_writers_is_a_conflict(
    catalog: Catalog, policy: Policy, monkeypatch: pytest.MonkeyPatch, kept: int, why: str
) -> None:
    made = table(catalog, "a.b.t")
    write = rewriting._GroupRewrite.write

    def meanwhile(*arguments: Any) -> Any:
        found = write(*arguments)
        made.refresh().overwrite(made.scan().to_arrow()[:kept])
        return found

    monkeypatch.setattr(rewriting._GroupRewrite, "write", meanwhile)
    found = passed(policy)
    assert found.is_conflict
    assert why in present(found.error)
    assert 'count":1' in made.refresh().properties[NOTES]


def test_a_namespace_that_cannot_be_listed_keeps_no_other_from_it(
    catalog: Catalog, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(catalog, "a.b.t")
    table(catalog, "c.v")
    list_tables, asked = SqlCatalog.list_tables, []

    def some(self: SqlCatalog, namespace: tuple[str, ...]) -> Any:
        asked.append(namespace)
        if namespace == ("c",):
            raise ForbiddenError("not yours")
        if namespace == ("a",):
            raise NoSuchNamespaceError("dropped")
        return list_tables(self, namespace)

    monkeypatch.setattr(SqlCatalog, "list_tables", some)
    report = MaintenancePass(policy, PyIcebergTables(policy), lambda: NOW).run()
    assert [str(each.table) for each in report.tables] == ["lake.a.b.t"]
    assert report.errors == (
        "Cannot list the tables of catalog lake, because RewriteFailedError: Cannot list namespace c: ForbiddenError: "
        "not yours",
    )
    asked.clear()
    rules = replace(policy, tables=(replace(policy.tables[0], pattern="a.b.*"),))

    def each(self: SqlCatalog, namespace: tuple[str, ...]) -> Any:
        asked.append(namespace)
        return list_tables(self, namespace)

    monkeypatch.setattr(SqlCatalog, "list_tables", each)
    report = MaintenancePass(rules, PyIcebergTables(rules), lambda: NOW).run()
    assert (report.errors, [str(each.table) for each in report.tables]) == ((), ["lake.a.b.t"])
    assert sorted(asked) == [("a",), ("a", "b")]


@pytest.mark.parametrize("where", ["inside", "the same", "around", "its data"])
def test_orphans_are_not_looked_for_where_another_table_has_files(catalog: Catalog, where: str) -> None:
    made = table(catalog, "a.b.t")
    schema = pa.schema([("x", pa.int64())])
    around = made.location().rpartition("/")[0]
    location = {"inside": f"{made.location()}/child", "the same": made.location(), "around": around}.get(where)
    properties = {"write.data.path": f"{made.location().replace('file://', 'file:')}/data/of"} if not location else {}
    FileLocations(catalog).check_alone(made)
    catalog.create_table("c.other", schema, location=location, properties=properties)
    with pytest.raises(
        InvalidInputError, match=r"orphan files of a\.b\.t, because c\.other may have files inside its location"
    ):
        FileLocations(catalog).check_alone(made)


def test_file_groups_that_fail_are_told(catalog: Catalog, policy: Policy) -> None:
    made = table(catalog, "a.b.t")
    path = Path(made.inspect.files()["file_path"][0].as_py().removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:100])
    at = made.current_snapshot()
    report = MaintenancePass(policy, PyIcebergTables(policy), lambda: NOW).run()
    (only,) = report.tables
    assert (report.has_failed, report.rewritten_bytes, made.refresh().current_snapshot()) == (True, 0, at)
    assert present(only.error).startswith("lake.a.b.t: ")


def test_columns_that_no_policy_names_are_those_of_the_last_rewrite(catalog: Catalog, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, by="")
    made, property_says = table(catalog, "a.b.t"), table(catalog, "c.says")
    table(catalog, "c.silent")
    property_says.transaction().set_properties({"zorder.columns": "y"}).commit_transaction()
    # A workload names no columns.
    with table(catalog, "c.queries").transaction() as transaction:
        transaction.set_properties(
            {"zorder.workload": '{"version": 1, "queries": [{"filter": "x < 99999999999", "weight": 1}]}'}
        )
    rewrite_data_files(made, "hilbert(y, x)", options={**OPTIONS, "rewrite-all": "true"})
    made.update_schema().rename_column("x", "x of today").commit()
    renamed = pa.table({"x of today": np.arange(2_000) << 20, "y": np.arange(2_000)[::-1] << 20})
    for _ in range(8):
        made.append(renamed)
    found = {each.table: each for each in MaintenancePass(policy, PyIcebergTables(policy), lambda: NOW).run().tables}
    assert {str(name): each.done is not None for name, each in found.items()} == {
        "lake.a.b.t": True, "lake.c.says": True, "lake.c.silent": False, "lake.c.queries": False,
    }  # fmt: skip
    for name in ("silent", "queries"):
        left = found[TableName("lake", ("c",), name)]
        assert left.error is None
        assert present(left.decision).reason == (
            "no columns are named: set them in the policy (by) or in the table property zorder.columns; iceberg-zorder "
            "advise recommends some"
        )
    summaries = [each.refresh().current_snapshot().summary for each in (made, property_says)]  # type: ignore[union-attr]
    assert [each and each["zorder.columns"] for each in summaries] == ["hilbert(y, `x of today`)", "y"]

    made.update_schema().delete_column("x of today").commit()
    (failed,) = [
        each.error for each in MaintenancePass(policy, PyIcebergTables(policy), lambda: NOW).run().tables if each.error
    ]
    assert "Cannot maintain lake.a.b.t, because column 'x of today' of the last rewrite (snapshot " in failed


def test_what_a_rewrite_does_not_take_of_the_budget_goes_to_the_tables_without_room(tmp_path: Path) -> None:
    with lake_in(tmp_path) as lake:
        tables = [lake.table(name, 8) for name in ("db.a", "db.b")]
        size = max(sum(each.inspect.files()["file_size_in_bytes"].to_pylist()) for each in tables)
        budget = f"budget: {{bytes: {size}, tables: 1}}\n"
        lake.policy.write_text(lake.policy.read_text() + budget, encoding="utf-8")
        tight = read_policy(lake.policy, {"LAKE_URI": lake.uri})
        first, second = run_pass(tight, dry_run=True).tables
        assert [each.decision and each.decision.action for each in (first, second)] == ["rewrite", "leave"]
        for file in tmp_path.glob(f"warehouse/db/{first.table.name}/data/*.parquet"):
            file.unlink()
        failed, waited = run_pass(tight).tables
    assert failed.error is not None
    assert (failed.table, waited.table, present(waited.done).rewritten_files) == (first.table, second.table, 8)
