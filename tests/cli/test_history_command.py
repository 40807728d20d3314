"""The command ``history`` in a process of its own, on the snapshots of a real table."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from iceberg_zorder.pyiceberg import report, rewrite_data_files
from tests.cli.processes import refusal, run_without_spark


def appended(catalog: Catalog, name: str, appends: int = 6) -> None:
    rng = np.random.default_rng(0)
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    table = catalog.create_table_if_not_exists(name, schema)
    for _ in range(appends):
        table.append(pa.table({each: rng.integers(0, 1 << 40, 1_000) for each in "ab"}))


def test_text_and_json_tell_of_each_rewrite(home: Path, catalog: Catalog) -> None:
    appended(catalog, "db.t")
    table = catalog.load_table("db.t")
    first = rewrite_data_files(table, "hilbert(a, b)")
    appended(catalog, "db.t", appends=1)
    plan = {"rewrite-all": True, "target-file-size-bytes": 40_000}
    second = rewrite_data_files(catalog.load_table("db.t"), "hilbert(b, a)", options=plan)
    done = run_without_spark(home, "db.t", "--output", "json", "--quiet", command="history")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["table"], found["branch"]) == ("files.db.t", "main")
    assert [each["sort_order"] for each in found["rewrites"]] == ["hilbert(a, b)", "hilbert(b, a)"]
    for each, result in zip(found["rewrites"], (first, second), strict=True):
        assert each["rewritten_files"] == result.rewritten_data_files_count
        assert each["added_files"] == result.added_data_files_count
        assert each["rewritten_bytes"] == result.rewritten_bytes_count
        assert each["actual"] == pytest.approx({scan.column: scan.actual for scan in result.scan_fractions}, abs=1e-6)
        told = {scan.column: scan.predicted for scan in result.scan_fractions}
        assert each["predicted"] == pytest.approx(told, abs=1e-6)
        assert (each["reason"], each["commits"]) == (None, 1)
        assert each["seconds"] > 0
    table = catalog.load_table("db.t")
    snapshots = [each.snapshot_id for each in table.snapshots()]
    assert [(each["parent_id"], each["snapshot_id"]) for each in found["rewrites"]] == [
        (snapshots[5], snapshots[6]),
        (snapshots[7], snapshots[8]),
    ]
    # The trend is that of reports on the whole table, by one sort order.
    assert found["measured_by"] == "hilbert(b, a)"
    states = [each[when] for each in found["rewrites"] for when in ("before", "after")]
    for state, snapshot_id in zip(states, snapshots[5:], strict=True):
        # What is now has the costs of the plan that a report recommends.
        is_now = snapshot_id == snapshots[-1]
        expected = report(table, "hilbert(b, a)", snapshot_id=None if is_now else snapshot_id)
        assert (state["snapshot_id"], state["files"]) == (snapshot_id, expected.total_file_count)
        assert state["scan_fractions"] == {each.name: each.scan_fraction for each in expected.columns}
        assert state["scan_fraction"] == pytest.approx(sum(state["scan_fractions"].values()) / 2)
        assert state["cost_ratio"] == expected.cost_ratio
    assert found["now"] == states[-1]

    done = run_without_spark(home, "db.t", command="history")
    assert done.returncode == 0
    assert f"{first.rewritten_data_files_count} files" in done.stdout
    assert all(str(each) in done.stdout for each in snapshots[5:])
    assert "now" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    done = run_without_spark(home, "db.t", "--limit", "1", "--output", "json", command="history")
    assert [each["sort_order"] for each in json.loads(done.stdout)["rewrites"]] == ["hilbert(b, a)"]


def test_what_has_no_history_is_refused(home: Path, catalog: Catalog) -> None:
    appended(catalog, "db.short", appends=1)
    for arguments, why in (
        (("t",), "Cannot read the history of t, because the namespace is missing: write db.t"),
        (("db.short", "--limit", "0"), "Invalid value for '--limit'"),
        (("db.short", "--branch", "nope"), "has no such branch"),
    ):
        assert why in refusal(home, *arguments, command="history")
