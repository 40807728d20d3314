"""A table whose queries change: a pass asks advise, and acts on what it says where the policy wants that."""

from pathlib import Path

import pytest

from iceberg_zorder.maintain.decide import Decision
from iceberg_zorder.maintain.notes import NOTES, Notes
from iceberg_zorder.maintain.observation import WorkloadNeed
from iceberg_zorder.maintain.policy.read import read_policy
from iceberg_zorder.passes import run_pass
from tests.maintain.lake import Lake, lake_in, rows_of
from tests.present import present
from tests.pyiceberg.committing import summary_of

_POLICY = """
version: 1
catalogs: {{lake: {{type: sql, uri: "sqlite:///{home}/catalog.db", warehouse: "{home}/warehouse"}}}}
tables:
  db.*:
    by: [a, b]
    options: {{min-age-seconds: 0, target-file-size-bytes: 40000}}
    workload: {{from: "queries/*.sql", days: {days}}}
"""


def _queries(lake: Lake, column: str, *, days: float = 1, more: str = "") -> None:
    """Eight ranges of a column, ten times each."""
    (lake.home / "queries").mkdir(exist_ok=True)
    step = (1 << 40) // 8
    told = [f"SELECT * FROM t WHERE {column} BETWEEN {at * step} AND {at * step + step // 8};" for at in range(8)]
    (lake.home / "queries" / "of-today.sql").write_text("\n".join(told * 10) + more)
    lake.policy.write_text(_POLICY.format(home=lake.home, days=days))


def _automatic(lake: Lake) -> None:
    """Name no columns, and have passes act on advice."""
    policy = (
        lake.policy.read_text()
        .replace("    by: [a, b]\n", "")
        .replace('"queries/*.sql",', '"queries/*.sql", relayout: auto,')
    )
    lake.policy.write_text(policy)


def _pass(lake: Lake, *, dry_run: bool = False) -> tuple[Decision, WorkloadNeed]:
    (report,) = run_pass(read_policy(lake.policy, {}), dry_run=dry_run).tables
    assert report.error is None
    return present(report.decision), present(present(report.observation).workload)


def _columns(lake: Lake) -> str:
    """By what the newest rewrite was."""
    return summary_of(lake.catalog.load_table("db.t"))["zorder.columns"]


def test_a_pass_acts_on_advice_where_the_policy_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with lake_in(tmp_path) as lake:
        table = lake.table("db.t", 8)
        rows = rows_of(table)
        _queries(lake, "a", more=";SELECT nonsense FROM t WHERE a NEAR 7")
        _automatic(lake)
        planned, _ = _pass(lake, dry_run=True)
        assert Notes.of(table.refresh().properties).advised_ms is None
        first, need = _pass(lake)
        assert first == planned
        assert first.is_new_layout
        assert present(need.predicted) < 0.3
        assert "; advise recommends " in f"; {first.reason}"
        assert "Did not understand 1 statements and parts of conditions of the workload of db.t" in caplog.text
        assert _columns(lake) == "a"
        # Of other queries it is asked once a day, and upkeep keeps to the columns until then.
        _queries(lake, "b")
        _automatic(lake)
        assert not _pass(lake)[0].is_new_layout
        table.refresh().transaction().remove_properties(NOTES).commit_transaction()
        again, _ = _pass(lake)
        assert again.is_new_layout
        assert _columns(lake) == "b"
        table.refresh().transaction().remove_properties(NOTES).commit_transaction()
        settled, _ = _pass(lake)
        assert settled.action == "leave"
        assert rows_of(table) == rows


def test_without_leave_advice_is_told_only(tmp_path: Path) -> None:
    with lake_in(tmp_path) as lake:
        table = lake.table("db.t", 2)
        _queries(lake, "b")
        decision, need = _pass(lake)
        assert (decision.is_new_layout, need.groups) == (False, ())
        assert "advise recommends " in decision.reason
        assert need.advised is not None
        noted = Notes.of(table.refresh().properties).advised_ms
        _, silent = _pass(lake)
        assert (silent.message, Notes.of(table.refresh().properties).advised_ms) == ("", noted)


def test_a_new_layout_has_to_pay_within_its_time_and_needs_room(tmp_path: Path) -> None:
    with lake_in(tmp_path) as lake:
        lake.table("db.t", 2)
        _queries(lake, "b", days=8000)
        _automatic(lake)
        decision, _ = _pass(lake, dry_run=True)
        assert (decision.action, decision.reason.endswith(", more than pays-within 7 days")) == ("leave", True)
        _queries(lake, "b")
        _automatic(lake)
        lake.policy.write_text(lake.policy.read_text() + "budget: {bytes: 2000}\n")
        decision, _ = _pass(lake, dry_run=True)
        assert decision.action == "leave"
        assert decision.reason.endswith("each of its file groups is over the budget of a pass")


def test_queries_that_cannot_be_read_fail_their_table_alone(tmp_path: Path) -> None:
    with lake_in(tmp_path) as lake:
        lake.table("db.t", 2)
        (tmp_path / "queries").mkdir()
        lake.policy.write_text(_POLICY.format(home=tmp_path, days=1))
        (report,) = run_pass(read_policy(lake.policy, {})).tables
        where = tmp_path / "queries" / "*.sql"
        why = f"Cannot read the workload from {where}, because the file does not exist"
        assert report.error == f"lake.db.t: {why}"
