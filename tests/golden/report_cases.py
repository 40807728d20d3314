"""Golden files of clustering reports: data files as plain JSON values, which both engines read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iceberg_zorder.layout.columns import ClusteringColumn, quoted_name
from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.metrics.clustering_report import ClusteringReport, Recommendation
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.history import SnapshotFacts, layout_history
from iceberg_zorder.metrics.measure import TableFacts, clustering_report
from iceberg_zorder.metrics.spread_rows import spread_rows
from tests.golden.cases import arrow, keys_as_json

SPREAD = 40
"""Rows whose keys a golden file has."""


@dataclass(frozen=True)
class BoundsOf:
    """Bounds of a column: values as in the golden files of layouts, NULL without; and the share of values."""

    name: tuple[str, ...]
    type: str
    lower: list[Any]
    upper: list[Any]
    valued: list[float]

    @classmethod
    def from_golden(cls, golden: dict[str, Any]) -> BoundsOf:
        return cls(tuple(golden["name"]), *(golden[key] for key in ("type", "lower", "upper", "valued")))

    def bounds(self) -> ColumnBounds:
        lower, upper = (encode(arrow(self.type, each), self.type) for each in (self.lower, self.upper))
        return ColumnBounds(ClusteringColumn(self.name, self.type), lower, upper, np.array(self.valued, np.float64))


def files_of(golden: dict[str, Any]) -> DataFiles:
    """The data files of a table."""
    partitions, rows, sizes = (np.array(golden[key], np.int64) for key in ("partitions", "rows", "sizes"))
    return DataFiles(partitions, rows, sizes, tuple(BoundsOf.from_golden(each).bounds() for each in golden["columns"]))


def layout_document(layout: LayoutRequest) -> dict[str, Any]:
    """What is asked of layouts, but for the number of files."""
    return {
        "cuts": layout.cuts,
        "curve": layout.curve,
        "leading_orders": [list(each) for each in layout.leading_orders],
        "boundaries": layout.boundaries,
        "size_tolerance": layout.size_tolerance,
        "weights": list(layout.weights),
    }


def layout_of(golden: dict[str, Any]) -> LayoutRequest:
    """Read what :func:`layout_document` wrote."""
    orders = tuple((descending, nulls_first) for descending, nulls_first in golden["leading_orders"])
    return LayoutRequest(1, **{**golden, "leading_orders": orders, "weights": tuple(golden["weights"])})


def report(golden: dict[str, Any]) -> dict[str, Any]:
    """A table, and what is reported of it."""
    sample, places = spread_rows(files_of(golden), SPREAD)
    expected = {
        "spread_places": places.tolist(),
        "spread_keys": [keys_as_json(column) for column in sample.columns],
        "report": shared_figures(report_of(golden)),
    }
    return {**golden, "expected": expected}


def shared_figures(report: ClusteringReport) -> dict[str, Any]:
    """What both languages find, and ``zorder_report`` returns."""
    sizes = report.file_sizes
    return {
        "total_file_count": report.total_file_count,
        "total_bytes": report.total_bytes,
        "total_rows": report.total_rows,
        "scan_fractions": {each.name: each.scan_fraction for each in report.columns if each.scan_fraction is not None},
        "attainable": {each.name: each.attainable for each in report.columns if each.attainable is not None},
        "average_file_count": {
            each.name: each.average_file_count for each in report.columns if each.average_file_count is not None
        },
        "cost": report.cost,
        "attainable_cost": report.attainable_cost,
        "target_file_size_bytes": sizes.target_file_size_bytes,
        "smallest_bytes": sizes.smallest_bytes,
        "median_bytes": sizes.median_bytes,
        "largest_bytes": sizes.largest_bytes,
        "files_after_rewrite": sizes.files_after_rewrite,
        # Who undid a layout is read out of the books of all snapshots, by Python alone.
        "findings": [f"{each.severity} {each.code}" for each in report.findings if each.code != "layout-undone"],
    }


def report_of(golden: dict[str, Any]) -> ClusteringReport:
    """The report of a table."""
    name, target, files = golden["name"], golden["target"], files_of(golden)
    snapshots = tuple(SnapshotFacts(*each) for each in golden["snapshots"])
    added_by = np.array(golden["added_by"] or [-1] * files.count, np.int64)
    facts = TableFacts(
        table=f"lake.db.{name}",
        sql_name=quoted_name(("lake", "db", name)),
        branch="main",
        snapshot_id=snapshots[-1].snapshot_id if snapshots else None,
        where=None,
        sort_order=", ".join(bounds.column.name for bounds in files.columns),
        files=files,
        partition_names=[f"p={number}" for number in range(len(set(golden["partitions"])))],
        metrics=[each["metrics"] for each in golden["columns"]],
        sizes=FileSizes(target, 0, target * 9 // 5),
        layout=layout_of(golden["layout"]),
        of_old_specs=np.isin(np.arange(files.count), golden["old_specs"]),
        with_deletes=np.isin(np.arange(files.count), golden["with_deletes"]),
        position_delete_files=len(golden["with_deletes"]),
        equality_delete_files=len(golden["with_deletes"]) // 2,
        history=layout_history(snapshots, added_by, files),
        open_cost=4 * 1024**2,
        # A plan is no part of these cases.
        recommendation=Recommendation(golden["planned_files"], 0, 0, 0.0, "", f"rewrite {name}")
        if golden["planned_files"]
        else None,
        predicates=[],
    )
    return clustering_report(facts)
