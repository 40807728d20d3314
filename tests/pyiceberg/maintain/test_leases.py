"""Maintainers that take turns at a table, and are killed."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from iceberg_zorder.errors import UnknownOutcomeError
from iceberg_zorder.maintain.maintenance_pass import LeftForNowError, MaintenancePass
from iceberg_zorder.maintain.notes import Notes
from iceberg_zorder.maintain.pass_report import PassReport
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.pyiceberg import group_rewrite as rewriting
from iceberg_zorder.pyiceberg.commit.snapshot import LEASE, MARKERS
from iceberg_zorder.pyiceberg.maintain import maintained_tables
from iceberg_zorder.pyiceberg.maintain.lease import Lease, Leases, Maintainer
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables
from iceberg_zorder.pyiceberg.rewrite import execute_with
from tests.maintain.lake import append_at_once, policy_of
from tests.present import present
from tests.pyiceberg.committing import head_id, head_of, operations, summary_of

NOW = datetime.now(timezone.utc).replace(microsecond=0)
HERE, THERE = Maintainer.here(), Maintainer("elsewhere", 7, "b6", "f00ba4", "1")
LATER = timedelta(days=3)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    made = load_catalog(
        "lake", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse"
    )
    made.create_namespace("db")
    return made


@pytest.fixture
def table(catalog: Catalog) -> Table:
    made = catalog.create_table("db.t", pa.schema([("x", pa.int64()), ("y", pa.int64())]))
    append_at_once(made)
    return made


def leases(holder: Maintainer = HERE, now: datetime = NOW, sleep: Callable[[float], None] = lambda _: None) -> Leases:
    return Leases(holder, lambda: now, sleep)


def run(policy: Policy, now: datetime = NOW, maintainer: Maintainer = HERE, *, dry_run: bool = False) -> PassReport:
    return MaintenancePass(policy, PyIcebergTables(policy, lambda: now, maintainer), lambda: now).run(dry_run=dry_run)


def loaded(catalog: Catalog) -> Table:
    return catalog.load_table("db.t")


def test_one_at_a_time(catalog: Catalog, table: Table) -> None:
    mine = leases().take(table)
    assert mine.until == NOW + timedelta(minutes=15)
    with pytest.raises(LeftForNowError) as refused:
        leases(THERE).take(loaded(catalog))
    assert str(refused.value) == (
        f"another maintainer is rewriting it (process {os.getpid()} on {HERE.host}), until "
        f"{mine.until:%Y-%m-%d %H:%M:%SZ} at the latest"
    )
    leases().give_back(table, mine)
    theirs = leases(THERE).take(loaded(catalog))
    assert Lease.of(loaded(catalog).properties) == theirs


def test_a_lease_that_has_run_out_is_free(catalog: Catalog, table: Table) -> None:
    theirs = leases(THERE).take(table)
    late = NOW + timedelta(minutes=15)
    mine = leases(now=late).take(loaded(catalog))
    assert Lease.of(loaded(catalog).properties) == mine
    # Whose time was up does not take away what is another's.
    leases(THERE).give_back(loaded(catalog), theirs)
    assert Lease.of(loaded(catalog).properties) == mine


def test_nobody_waits_for_a_process_that_is_gone(catalog: Catalog, table: Table) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    leases(replace(HERE, process=ended.pid, run="other", own="one")).take(table)
    mine = leases().take(loaded(catalog))
    assert Lease.of(loaded(catalog).properties) == mine


@pytest.mark.parametrize("process", [1, None, 2**22], ids=["first", "own", "none"])
def test_of_containers_with_one_name_it_is_not_known_whether_their_processes_are_gone(
    catalog: Catalog, table: Table, process: int | None
) -> None:
    process = process or os.getpid()
    theirs = leases(replace(HERE, process=process, place="0ther", run="f00ba4")).take(table)
    with pytest.raises(LeftForNowError, match=f"process {process} on {HERE.host}"):
        leases().take(loaded(catalog))
    assert Lease.of(loaded(catalog).properties) == theirs


def test_of_two_that_take_it_at_once_the_later_has_it(catalog: Catalog, table: Table) -> None:
    """As with catalogs that let the later of two changes of properties win."""
    theirs = Lease(THERE, "w1", NOW + timedelta(hours=1))

    def meanwhile(_: float) -> None:
        loaded(catalog).transaction().set_properties({LEASE: str(theirs)}).commit_transaction()

    with pytest.raises(LeftForNowError, match="process 7 on elsewhere"):
        leases(sleep=meanwhile).take(table)
    assert Lease.of(loaded(catalog).properties) == theirs


def test_a_pass_leaves_a_table_to_another(catalog: Catalog, table: Table, tmp_path: Path) -> None:
    leases(THERE).take(table)
    at = table.current_snapshot()
    (report,) = run(policy_of(tmp_path)).tables
    assert report.decision is not None
    assert (report.decision.action, report.error, loaded(catalog).current_snapshot()) == ("leave", None, at)
    assert report.decision.reason.startswith("another maintainer is rewriting it (process 7 on elsewhere), until ")
    (report,) = run(policy_of(tmp_path, ", conflicts: {lease: false, markers: false}")).tables
    assert present(report.done).rewritten_files == 8
    assert not MARKERS.keys() & summary_of(table.refresh()).keys()


def test_a_pass_gives_it_back(catalog: Catalog, table: Table, tmp_path: Path) -> None:
    run(policy_of(tmp_path))
    made = loaded(catalog)
    assert LEASE not in made.properties
    assert Notes.of(made.properties).last_rewrite_ms == head_of(made).timestamp_ms


def test_a_rewrite_that_a_catalog_has_rolled_back_for_a_writer_is_made_again(
    catalog: Catalog, table: Table, tmp_path: Path
) -> None:
    before, policy = head_id(table), policy_of(tmp_path)
    run(policy)
    assert MARKERS.items() <= summary_of(table.refresh()).items()
    rewrite = head_id(table)
    table.manage_snapshots().set_current_snapshot(snapshot_id=before).commit()
    table.maintenance.expire_snapshots().by_id(rewrite).commit()
    table.append(pa.table({"x": [7], "y": [7]}))
    (report,) = run(policy, NOW + timedelta(minutes=20)).tables
    assert present(report.done).rewritten_files >= 8
    run(policy, NOW + LATER)
    assert known(loaded(catalog)) <= files(tmp_path)
    assert loaded(catalog).scan().count() == 16_001


def test_two_maintainers_at_once_do_the_work_once(catalog: Catalog, table: Table, tmp_path: Path) -> None:
    policy = policy_of(tmp_path)
    reports: list[PassReport] = []
    both = [
        threading.Thread(target=lambda one=each: reports.append(run(policy, maintainer=one))) for each in (HERE, THERE)
    ]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert [report.failures for report in reports] == [(), ()]
    assert operations(loaded(catalog)).count("replace") == 1, reports
    assert sorted(report.rewritten_bytes > 0 for report in reports) == [False, True]
    assert loaded(catalog).scan().count() == 16_000


def files(home: Path) -> set[str]:
    return {path.name for path in (home / "warehouse").rglob("*") if path.suffix in (".parquet", ".avro")}


def known(made: Table) -> set[str]:
    found = set()
    for snapshot in made.snapshots():
        manifests = snapshot.manifests(made.io)
        entries = [entry for each in manifests for entry in each.fetch_manifest_entry(made.io, discard_deleted=False)]
        found |= {snapshot.manifest_list, *(each.manifest_path for each in manifests)}
        found |= {entry.data_file.file_path for entry in entries}
    return {path.rpartition("/")[2] for path in found}


_KILLED = """
import os, signal, sys
from datetime import datetime, timezone
from pathlib import Path
from iceberg_zorder.pyiceberg.commit import replacement
from iceberg_zorder.pyiceberg.commit.snapshot import MARKERS
from iceberg_zorder.pyiceberg import group_rewrite as rewriting
from iceberg_zorder.pyiceberg import compat
from tests.pyiceberg.maintain.test_leases import policy_of, run
module = {"data files": rewriting._GroupRewrite, "manifests": None}[sys.argv[2]]
def end(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)
if module is None:
    import pyiceberg.catalog.sql as sql
    commit = sql.SqlCatalog.commit_table
    def late(self, table, requirements, updates):
        return end() if any(each.action == "add-snapshot" for each in updates) else commit(self, table, requirements, updates)
    sql.SqlCatalog.commit_table = late
else:
    write = module.write
    def written(self, *args):
        write(self, *args)
        end()
    module.write = written
run(policy_of(Path(sys.argv[1])), datetime.now(timezone.utc))
"""


@pytest.mark.parametrize("after", ["data files", "manifests"])
def test_after_a_killed_maintainer_others_go_on_and_delete_nothing(
    catalog: Catalog, table: Table, tmp_path: Path, after: str
) -> None:
    policy = policy_of(tmp_path)
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path), after], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    left = files(tmp_path) - known(loaded(catalog))
    assert any(name.endswith(".parquet") for name in left)
    assert any(name.endswith(".avro") for name in left) == (after == "manifests")
    (report,) = run(policy).tables
    assert present(report.done).rewritten_files == 8
    loaded(catalog).append(pa.table({"x": [7], "y": [7]}))
    run(policy, NOW + LATER)
    assert files(tmp_path) - known(loaded(catalog)) == left
    assert loaded(catalog).scan().count() == 16_001


def test_a_maintainer_that_was_stopped_for_long_commits_nothing(
    catalog: Catalog, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with SIGSTOP, or with a machine that is suspended."""
    write = rewriting._GroupRewrite.write

    def stopped(*args: Any) -> Any:
        written = write(*args)
        assert any(name.endswith("zorder.parquet") for name in files(tmp_path))
        theirs = leases(THERE, NOW + timedelta(hours=3)).take(loaded(catalog))
        leases(THERE, NOW + timedelta(hours=3)).give_back(loaded(catalog), theirs)
        return written

    monkeypatch.setattr(rewriting._GroupRewrite, "write", stopped)
    (report,) = run(policy_of(tmp_path)).tables
    assert (report.error, report.done) == (None, None)
    assert "because another maintainer has taken the table over" in present(report.decision).reason
    assert loaded(catalog).scan().count() == 16_000
    assert files(tmp_path) == known(loaded(catalog))


def test_a_lease_is_given_back_after_an_unknown_outcome(
    catalog: Catalog, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*args: Any, **named: Any) -> None:
        execute_with(*args, **named)
        raise UnknownOutcomeError("Cannot tell whether the rewrite of lake.db.t was committed")

    monkeypatch.setattr(maintained_tables, "execute_with", silent)
    assert run(policy_of(tmp_path)).has_failed
    assert LEASE not in loaded(catalog).properties
    assert known(loaded(catalog)) <= files(tmp_path)


def test_a_lease_is_prolonged_while_work_is_done_and_not_once_it_has_run_out(catalog: Catalog, table: Table) -> None:
    times = [NOW]
    mine = Leases(HERE, lambda: times[-1], lambda _: None)
    lease = mine.take(table)
    mine._prolong(table, lease)
    times.append(NOW + timedelta(minutes=14))
    mine._prolong(table, lease)
    now = Lease.of(loaded(catalog).properties)
    assert now == replace(lease, until=NOW + timedelta(minutes=29))
    times.append(NOW + timedelta(minutes=30))
    mine._prolong(table, lease)
    assert Lease.of(loaded(catalog).properties) == now
    mine.give_back(table, lease)
    assert LEASE not in loaded(catalog).properties
