"""A table whose queries change: a pass notices, and lays it out anew where that pays, and only there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from iceberg_zorder.maintain.decide import Decision
from iceberg_zorder.maintain.maintenance_pass import MaintenancePass, Peace
from iceberg_zorder.maintain.new_layout import PREDICTED_READ, PREDICTION, LaidOut
from iceberg_zorder.maintain.observation import TableName, WorkloadNeed
from iceberg_zorder.maintain.pass_report import Done
from iceberg_zorder.maintain.policy.read import read_policy
from iceberg_zorder.maintain.policy.settings import FollowUp, TableSettings
from iceberg_zorder.passes import now, run_pass
from iceberg_zorder.pyiceberg.clustering import new_layout
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.upkeep.settled import WORKLOAD
from tests.maintain.lake import Lake, append, lake_in, operations, rows_of

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


def _pass(lake: Lake, *, dry_run: bool = False) -> tuple[Decision, WorkloadNeed]:
    (report,) = run_pass(read_policy(lake.policy, {}), dry_run=dry_run).tables
    assert report.error is None
    assert report.decision is not None
    assert report.observation is not None
    assert report.observation.workload is not None
    return report.decision, report.observation.workload


def test_a_new_layout_is_made_where_it_pays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with lake_in(tmp_path) as lake:
        table = lake.table("db.t", 8)
        rows = rows_of(table)
        _queries(lake, "a")
        first, need = _pass(lake)
        assert first.is_new_layout
        assert first.reason.startswith("no rewrite was for the workload yet: its queries read 100.0% of the bytes; ")
        assert need.predicted is not None
        # Of other queries 80 in 8,000 days: none pays, which is told without a look into the table.
        _queries(lake, "b", days=8000)
        decision, few = _pass(lake)
        assert decision.action == "leave"
        assert few.predicted is None
        assert (
            "the workload has changed since the last rewrite: its queries read 100.0% of the bytes, those of then were "
            f"predicted to read {need.predicted:.1%}; a new layout would pay after 200 days at the earliest, more than "
            "pays-within 7 days"
        ) in decision.reason
        # As many a day: a dry run tells what the next pass does, and the one after that has nothing to do.
        _queries(lake, "b", more=";SELECT nonsense FROM t WHERE a NEAR 7")
        planned, _ = _pass(lake, dry_run=True)
        decision, need = _pass(lake)
        assert decision.is_new_layout
        assert (decision.reason, decision.size) == (planned.reason, planned.size)
        assert need.read == 1.0
        assert need.predicted is not None
        assert need.predicted < 0.3
        assert "Did not understand 1 statements and parts of conditions of the workload of db.t" in caplog.text
        decision, after = _pass(lake)
        assert decision.action == "leave"
        assert after.read == pytest.approx(need.predicted, rel=0.1)
        assert after.queries_to_pay is None
        assert rows_of(table) == rows
        assert operations(table) == ["append"] * 8 + ["replace"] * 2


def test_what_a_sample_told_of_a_layout_that_does_not_pay_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lake_in(tmp_path) as lake:
        table = lake.table("db.t", 2)
        (tmp_path / "queries").mkdir()
        (tmp_path / "queries" / "all.sql").write_text("SELECT * FROM t;")
        lake.policy.write_text(_POLICY.format(home=tmp_path, days=0.001))
        decision, _ = _pass(lake)
        assert decision.reason.endswith(
            "its queries read 100.0% of the bytes; a new layout is predicted to save nothing"
        )
        assert PREDICTION in table.refresh().properties

        def sampled(*_: object, **__: object) -> RewritePlan:
            raise AssertionError

        monkeypatch.setattr(RewritePlan, "sampled", sampled)
        again, _ = _pass(lake)
        assert again == decision


def test_a_new_layout_that_missed_its_prediction_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lake_in(tmp_path) as lake:
        table = lake.table("db.t", 4)
        _queries(lake, "a", days=0.001)
        assert _pass(lake)[0].is_new_layout
        monkeypatch.setattr(LaidOut, "is_as_predicted", lambda *_: False)
        monkeypatch.setattr(new_layout, "queries_to_pay", lambda *_: 1.0)
        assert _pass(lake)[0].action == "leave"
        # A third of the bytes is newer.
        append(table.refresh(), 2)
        assert _pass(lake, dry_run=True)[0].is_new_layout


def test_of_a_log_that_grows_no_new_layout_is_made_again_that_reads_more_than_was_predicted(tmp_path: Path) -> None:
    with lake_in(tmp_path) as lake:
        rows = rows_of(lake.table("db.t", 12))
        _queries(lake, "a", days=0.001)
        lake.policy.write_text(lake.policy.read_text().replace("40000", "20000, sample-rows: 100"))
        log = lake.home / "queries" / "of-today.sql"
        # Of points a sample that is too small promises too much.
        log.write_text(
            "\n".join(f"SELECT * FROM t WHERE a = {row[0]} AND b = {row[1]};" for row in sorted(rows)[::100])
        )
        first, need = _pass(lake)
        assert first.is_new_layout
        for value in range(2):
            log.write_text(f"{log.read_text()}\nSELECT * FROM t WHERE a = {value};")
            again, then = _pass(lake)
            assert not again.is_new_layout
            assert then.has_changed
            assert then.read is not None
            assert need.predicted is not None
            assert then.read > 1.1 * need.predicted


def test_a_new_layout_that_no_pass_has_room_for_keeps_no_upkeep_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sampled(*_: object, **__: object) -> RewritePlan:
        raise AssertionError

    monkeypatch.setattr(RewritePlan, "sampled", sampled)
    with lake_in(tmp_path) as lake:
        table = lake.table("db.t", 2)
        for _ in range(5):
            table.append(pa.table({"a": np.arange(1 << 38, (1 << 38) + 9), "b": np.arange(9)}))
        _queries(lake, "a")
        policy = lake.policy.read_text().replace("seconds: 0", "seconds: 0, max-scan-ratio: Infinity")
        lake.policy.write_text(policy + "budget: {bytes: 20000}\n")
        decision, need = _pass(lake)
        assert need.too_large is not None
        assert f"a new layout rewrites {need.too_large:,} bytes at once, for which the budget" in decision.reason
        assert (decision.is_new_layout, [group.files for group in decision.groups]) == (False, [5])


def test_queries_that_cannot_be_read_fail_their_table_alone(tmp_path: Path) -> None:
    with lake_in(tmp_path) as lake:
        lake.table("db.t", 2)
        (tmp_path / "queries").mkdir()
        lake.policy.write_text(_POLICY.format(home=tmp_path, days=1))
        (report,) = run_pass(read_policy(lake.policy, {})).tables
        where = tmp_path / "queries" / "*.sql"
        why = f"Cannot read the workload from {where}, because there is no such file"
        assert report.error == f"lake.db.t: {why}"


class _Spark:
    """Takes note of what Spark is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[TableSettings, int | None, Mapping[str, str]]] = []

    def rewrite(
        self, name: TableName, settings: TableSettings, now: datetime, files: int | None, told: Mapping[str, str]
    ) -> Done:
        self.asked.append((settings, files, told))
        return Done(1, 1, 1)

    def follow_up(self, name: TableName, what: FollowUp, now: datetime) -> str:
        raise NotImplementedError


def test_spark_is_given_the_queries(tmp_path: Path) -> None:
    with lake_in(tmp_path) as lake:
        lake.table("db.t", 2)
        _queries(lake, "b")
        lake.policy.write_text(lake.policy.read_text().replace("by: [a, b]", "by: [a, b]\n    engine: spark"))
        spark = _Spark()
        tables = PyIcebergTables(read_policy(lake.policy, {}), spark=spark)
        (report,) = MaintenancePass(tables.policy, tables, Peace(), now).run().tables
        tables.close()
        assert report.error is None
        ((settings, files, told),) = spark.asked
        assert settings.options["rewrite-all"] == "true"
        assert '{"filter": "b >= 0 AND b <= 17179869184", "weight": 10.0}' in settings.options["workload"]
        assert files is None
        assert len(told[WORKLOAD]) == 16
        assert 0 < float(told[PREDICTED_READ]) < 1
