"""Golden cases of clustering reports: data files as plain JSON values, which both engines read."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iceberg_zorder.layout.columns import ClusteringColumn, quoted_name
from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.keys import VALUE, encode
from iceberg_zorder.report.clustering_report import ClusteringReport
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.history import SnapshotFacts, layout_history
from iceberg_zorder.report.measure import FileSizes, TableFacts, clustering_report
from iceberg_zorder.report.spread_rows import spread_rows
from tests.golden.cases import arrow

SPREAD = 40
"""Rows whose keys a golden file has."""


@dataclass(frozen=True)
class BoundsOf:
    """Bounds of a column: values as in the golden cases of layouts, NULL without; and the share of values."""

    name: tuple[str, ...]
    type: str
    lower: list[Any]
    upper: list[Any]
    valued: list[float]
    metrics: str = "full"

    def bounds(self) -> ColumnBounds:
        lower, upper = (encode(arrow(self.type, each), self.type) for each in (self.lower, self.upper))
        return ColumnBounds(ClusteringColumn(self.name, self.type), lower, upper, np.array(self.valued, np.float64))


@dataclass(frozen=True)
class ReportCase:
    """A table."""

    name: str
    columns: tuple[BoundsOf, ...]
    partitions: list[int]
    rows: list[int]
    sizes: list[int]
    partition_names: list[str]
    target: int = 1000
    layout: LayoutRequest = LayoutRequest(1)  # noqa: RUF009
    old_specs: list[int] = field(default_factory=list)
    with_deletes: list[int] = field(default_factory=list)
    snapshots: tuple[SnapshotFacts, ...] = ()
    added_by: list[int] = field(default_factory=list)
    by: str = "zorder(a)"

    def files(self) -> DataFiles:
        partitions, rows, sizes = (np.array(each, np.int64) for each in (self.partitions, self.rows, self.sizes))
        return DataFiles(partitions, rows, sizes, tuple(column.bounds() for column in self.columns))

    def facts(self) -> TableFacts:
        files = self.files()
        count = files.count
        added_by = np.array(self.added_by or [-1] * count, np.int64)
        return TableFacts(
            table=f"lake.db.{self.name}",
            sql_name=quoted_name(("lake", "db", self.name)),
            branch="main",
            snapshot_id=self.snapshots[-1].snapshot_id if self.snapshots else None,
            where=None,
            sort_order=", ".join(column.name for column in (bounds.column for bounds in files.columns)),
            files=files,
            partition_names=self.partition_names,
            metrics=[column.metrics for column in self.columns],
            sizes=FileSizes(self.target, self.target * 3 // 4, self.target * 9 // 5, 5, self.expected_files),
            layout=self.layout,
            of_old_specs=np.isin(np.arange(count), self.old_specs),
            with_deletes=np.isin(np.arange(count), self.with_deletes),
            position_delete_files=len(self.with_deletes),
            equality_delete_files=len(self.with_deletes) // 2,
            history=layout_history(self.snapshots, added_by, files, lambda each: each.is_by(self.by)),
            rewrite_command=lambda options: f"rewrite {self.name} {options}".replace("'", ""),
            predicates=[],
        )

    def expected_files(self, size: int) -> int:
        """How many files so many bytes are written to."""
        return max(1, -(-size // self.target))


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


def report_document(case: ReportCase) -> dict[str, Any]:
    """A case, and what must come of it."""
    sample, places = spread_rows(case.files(), SPREAD)
    report = report_of(case)
    return {
        "columns": [
            {
                "name": list(c.name),
                "type": c.type,
                "lower": c.lower,
                "upper": c.upper,
                "valued": c.valued,
                "metrics": c.metrics,
            }
            for c in case.columns
        ],
        "name": case.name,
        "partitions": case.partitions,
        "rows": case.rows,
        "sizes": case.sizes,
        "target": case.target,
        "layout": layout_document(case.layout),
        "old_specs": case.old_specs,
        "with_deletes": case.with_deletes,
        "snapshots": [[s.snapshot_id, s.timestamp_ms, s.operation, dict(s.summary)] for s in case.snapshots],
        "added_by": case.added_by,
        "by": case.by,
        "expected": {
            "spread_places": places.tolist(),
            "spread_keys": [
                [
                    (key.hex() if isinstance(key, bytes) else key) if state == VALUE else None
                    for key, state in zip(column.keys.tolist(), column.states.tolist(), strict=True)
                ]
                for column in sample.columns
            ],
            "report": shared_figures(report),
        },
    }


def shared_figures(report: ClusteringReport) -> dict[str, Any]:
    """What both languages find, and ``zorder_report`` returns."""
    sizes = report.file_sizes
    return {
        "total_file_count": report.total_file_count,
        "total_bytes": report.total_bytes,
        "total_rows": report.total_rows,
        "scan_fractions": {each.name: each.scan_fraction for each in report.columns if each.scan_fraction is not None},
        "attainable": {each.name: each.attainable for each in report.columns if each.attainable is not None},
        "target_file_size_bytes": sizes.target_file_size_bytes,
        "smallest_bytes": sizes.smallest_bytes,
        "median_bytes": sizes.median_bytes,
        "largest_bytes": sizes.largest_bytes,
        "badly_sized_files": sizes.badly_sized_files,
        "files_after_rewrite": sizes.files_after_rewrite,
        # Who undid a layout is read out of the books of all snapshots, by Python alone.
        "findings": [f"{each.severity} {each.code}" for each in report.findings if each.code != "layout-undone"],
    }


def report_of(case: ReportCase) -> ClusteringReport:
    """Compute the report of a case."""
    return clustering_report(case.facts())


def report_cases() -> list[ReportCase]:
    """All cases."""
    return [
        ReportCase("report_empty", (BoundsOf(("a",), "long", [], [], []),), [], [], [], []),
        ReportCase("report_one_file", (BoundsOf(("a",), "long", [3], [9], [0.5]),), [0], [10], [500], [""]),
        _many_partitions(),
        _hostile(),
        _extremes(),
        _deep(),
        _without_bounds(),
        _alike(),
        _endless(),
        _relaid(),
        _prefix(),
        _compacted_later(),
        _first_layer_compacted(),
        _flags("report_settled", [2] * 8 + [3] * 8),
        _flags("report_unsettled", [2] * 7 + [3] * 9),
    ]


def _many_partitions() -> ReportCase:
    draw = random.Random(1)
    partitions = [number for number in range(40) for _ in range(1 + number % 7)]
    draw.shuffle(partitions)
    first: dict[int, int] = {}
    partitions = [first.setdefault(each, len(first)) for each in partitions]
    count = len(partitions)
    low = [draw.randrange(10_000) for _ in range(count)]
    text = [draw.choice("abcxyz") * draw.randrange(1, 5) for _ in range(count)]
    return ReportCase(
        "report_many_partitions",
        (
            BoundsOf(("a",), "long", low, [each + draw.randrange(3_000) for each in low], [1.0] * count),
            BoundsOf(("s", "t u"), "string", text, [f"{each}{draw.choice('azq')}" for each in text], [0.75] * count),
        ),
        partitions,
        [draw.randrange(1, 10_000) for _ in range(count)],
        [draw.randrange(1, 2_500) for _ in range(count)],
        [f"p={number}" for number in range(40)],
    )


def _hostile() -> ReportCase:
    """Every kind of key, with files that have no bounds, no values, no rows, no bytes, or NaN where a bound is to be."""
    bounds = (
        BoundsOf(
            ("x",), "double",
            ["-Infinity", "-0.0", None, "NaN", "1e308", "5", "-1e308", "2.5", None, "0.1"],
            ["Infinity", "0.0", "7", "3", "1.7e308", "5", "1e308", "2.5000000000000004", None, "0.30000000000000004"],
            [1.0, 0.5, 1.0, 0.25, 1.0, 1.0, 0.9, 1.0, 0.0, 1.0],
        ),
        BoundsOf(
            ("big",), "decimal(38, 10)",
            ["-99999999999999999999999999.9", "-0.1", None, "0", "3", "-7", "1", "2", None, "3"],
            ["99999999999999999999999999.9", "0.1", None, "0", "4", "7", "1", "20000000000000000000000", None, "3.5"],
            [1.0] * 8 + [0.0, 1.0],
        ),
        BoundsOf(
            ("t",), "string",
            ["", "a", "\U0001f600", "\uffee", "zz", "same", "é", "", None, "\U0010ffff"],
            ["\U0010ffff\U0010ffff", "a", "\U0001f601", "\U00010000", "zz\u0000", "same", "é\u0301", "b", None, "\U0010ffffx"],
            [1.0, 1.0, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        ),
        BoundsOf(
            ("b",), "binary",
            ["00", "ff", "7f80", "", "c328", "00ff", "80", None, "01", "fe"],
            ["ffff", "ff", "8000", "00", "c329", "01", "80ff", None, "02", "feff"],
            [1.0, 1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 0.0, 1.0, 1.0],
        ),
    )  # fmt: skip
    return ReportCase(
        "report_hostile",
        bounds,
        [0] * 8 + [1, 1],
        [100, 7, 0, 50, 3, 1, 1_000, 20, 5, 9],
        [1_000, 70, 900, 0, 33, 10, 9_000, 200, 50, 90],
        ["", "spec 1: day=__HIVE_DEFAULT_PARTITION__"],
        target=700,
        old_specs=[8, 9],
        with_deletes=[0, 6, 9],
    )


def _extremes() -> ReportCase:
    """Bounds as far apart as keys can be."""
    least, most = -(2**63), 2**63 - 1
    small = "-9999999.99"
    return ReportCase(
        "report_extremes",
        (
            BoundsOf(("a",), "long", [least, least, most, 0, -1], [most, least, most, most, 0], [1.0] * 5),
            BoundsOf(("d",), "decimal(9, 2)", [small, "0", None, "1.5", "2"], ["9999999.99", "0", None, "1.5", "3"], [1.0] * 5),
            BoundsOf(("f",), "float", ["-Infinity", "1.1", "2", None, "-1"], ["Infinity", "3.3", "2", None, "1"], [1.0, 1.0, 1.0, 0.5, 1.0]),
            BoundsOf(("ok",), "boolean", [False, True, False, None, False], [True, True, False, None, True], [1.0] * 3 + [0.0, 1.0]),
        ),
        [0] * 5,
        [1_000, 2_000, 3_000, 4_000, 5_000],
        [10_000_000_000_000, 2, 3, 4_000_000_000, 5],
        [""],
        target=2_000_000_000_000,
    )  # fmt: skip


def _deep() -> ReportCase:
    """Files that all lie over each other, many of one partition, whose layout was undone."""
    draw = random.Random(2)
    count = 150
    low = [draw.randrange(1_000) for _ in range(count)]
    other = [draw.randrange(100_000) for _ in range(count)]
    ours = {"zorder.columns": "a,b", "added-data-files": "200"}
    return ReportCase(
        "report_deep",
        (
            BoundsOf(("a",), "int", low, [9_000 + each for each in low], [1.0] * count),
            BoundsOf(("b",), "timestamptz", other, [each * 2 + 1_000 for each in other], [1.0] * count),
        ),
        [0] * count,
        [draw.randrange(1, 100_000) for _ in range(count)],
        [draw.randrange(1, 1_500) for _ in range(count)],
        [""],
        target=5_000,
        snapshots=(
            SnapshotFacts(7, 1_000, "append", {"added-data-files": "200"}),
            SnapshotFacts(8, 2_000, "replace", ours),
            SnapshotFacts(9, 3_000, "replace", {"deleted-data-files": "100", "added-data-files": "10"}),
            SnapshotFacts(10, 4_000, "append", {}),
        ),
        added_by=[8] * 100 + [9] * 10 + [10] * 38 + [3] * 2,
        layout=LayoutRequest(1, "even", "hilbert"),
    )


def _without_bounds() -> ReportCase:
    ours = {"zorder.columns": "a", "added-data-files": "1"}
    return ReportCase(
        "report_without_bounds",
        (
            BoundsOf(("a",), "long", [None] * 3, [None] * 3, [1.0, 0.5, 0.0], "counts"),
            BoundsOf(("s",), "string", [None] * 3, [None] * 3, [1.0] * 3, "none"),
            BoundsOf(("d",), "date", [None, 18_000, 18_001], [None, 18_100, 18_001], [1.0] * 3),
        ),
        [0, 1, 1],
        [10, 20, 30],
        [1_500, 2_500, 3_500],
        ["p=1", "p=2"],
        snapshots=(SnapshotFacts(1, 5, "replace", ours), SnapshotFacts(2, 6, "append", {})),
        added_by=[1, 2, 2],
    )


def _alike() -> ReportCase:
    """Bounds that are cut, in characters and in bytes, before values differ."""
    cut = "\U0001f600" * 3
    return ReportCase(
        "report_alike",
        (
            BoundsOf(
                ("u",), "string",
                ["http", "http", "httq", cut + "a", cut + "a", "abc\U0010ffff", "abc\U0010ffff", "", "éa", "abcd", "admi", "admi"],
                ["httq", "httq", "httr", cut + "b", cut + "b", "abd", "abd", "a", "éb", "abcd", "b", "b"],
                [1.0] * 12, "truncate(4)",
            ),
            BoundsOf(
                ("b",), "binary",
                ["c3a9", "c3a9", "00ff", "00ff", "01", "ffff", "ffff", "0102", "0102", None, "0afe", "0afe"],
                ["c3aa", "c3aa", "01", "01", "02", "ffff", "ffff", "0103", "0104", None, "0b", "0b"],
                [1.0] * 12, "truncate(2)",
            ),
        ),
        [0] * 12,
        [10] * 12,
        [1_100] * 12,
        [""],
    )  # fmt: skip


def _endless() -> ReportCase:
    """Upper bounds that are not there, because nothing as short as they are cut lies above the values."""
    last = "\U0010ffff" * 4
    return ReportCase(
        "report_endless",
        (
            BoundsOf(("t",), "string", ["", "a", last, None, None], ["b", None, None, None, None], [1.0] * 4 + [0.0], "truncate(4)"),
            BoundsOf(("f",), "string", ["", "a", last, None, None], ["b", None, None, None, None], [1.0] * 4 + [0.0], "full"),
            BoundsOf(("b",), "binary", ["00", "ffff", "01", "02", "0102"], ["ff", None, "02", None, "0103"], [1.0] * 5, "truncate(2)"),
            BoundsOf(("n",), "long", [1, 2, 3, 4, 5], [None, 2, 3, 4, 5], [1.0] * 5, "truncate(16)"),
        ),
        [0] * 5,
        [10] * 5,
        [1_100, 1_200, 1_300, 1_400, 1_500],
        [""],
    )  # fmt: skip


def _relaid() -> ReportCase:
    """Laid out twice, after which another tool has compacted what came later; wide decimals around zero; quotes in a name."""
    ours = {"zorder.columns": "n", "deleted-data-files": "3", "added-data-files": "3"}
    return ReportCase(
        "report_relaid",
        (
            BoundsOf(("n",), "decimal(38, 2)", ["-10000", "-0.01", "7", "-3"], ["10000", "0.01", "7", "10000"], [1.0] * 4),
            BoundsOf(("s", "it's\\"), "long", [None] * 4, [None] * 4, [1.0] * 4, "none"),
        ),
        [0] * 4,
        [100] * 4,
        [900] * 4,
        [""],
        snapshots=(
            SnapshotFacts(1, 5, "replace", ours),
            SnapshotFacts(2, 6, "replace", ours),
            SnapshotFacts(3, 7, "append", {"added-data-files": "4"}),
            SnapshotFacts(4, 8, "replace", {"deleted-data-files": "4", "added-data-files": "1"}),
        ),
        added_by=[2, 2, 2, 4],
    )  # fmt: skip


def _prefix() -> ReportCase:
    draw = random.Random(3)
    count = 30
    low = [draw.randrange(500) for _ in range(count)]
    texts = [f"{draw.randrange(10**9):09d}" for _ in range(count)]
    return ReportCase(
        "report_prefix",
        (
            BoundsOf(("region",), "int", [each % 4 for each in low], [each % 4 + 1 for each in low], [0.9] * count),
            BoundsOf(("a",), "long", low, [each + 200 for each in low], [1.0] * count),
            BoundsOf(("id",), "string", texts, [f"{each}9" for each in texts], [1.0] * count, "truncate(16)"),
        ),
        [0] * count,
        [draw.randrange(100, 1_000) for _ in range(count)],
        [900] * count,
        [""],
        layout=LayoutRequest(1, leading_orders=((True, True),), boundaries=100, size_tolerance=0.1, weights=(3.0, 0.5)),
    )


def _compacted_later() -> ReportCase:
    """Another tool has compacted what came after the layout, and a delete has removed whole files of it."""
    ours = {"zorder.columns": "a", "added-data-files": "5", "deleted-data-files": "6"}
    return _of_history(
        "report_compacted_later",
        (
            SnapshotFacts(1, 5, "append", {"added-data-files": "6"}),
            SnapshotFacts(2, 6, "replace", ours),
            SnapshotFacts(3, 7, "append", {"added-data-files": "6"}),
            SnapshotFacts(4, 8, "delete", {"deleted-data-files": "2"}),
            SnapshotFacts(5, 9, "replace", {"added-data-files": "1", "deleted-data-files": "6"}),
        ),
        [2] * 3 + [5],
    )


def _first_layer_compacted() -> ReportCase:
    """Another tool has compacted the first of two layers: sizes tell that the second one was of files that came later."""

    def summary(added: tuple[int, int, int], deleted: tuple[int, int, int] = (0, 0, 0)) -> dict[str, str]:
        """Files, rows and bytes; of nothing a summary says nothing."""
        keys = ("added-data-files", "added-records", "added-files-size")
        removed = ("deleted-data-files", "deleted-records", "removed-files-size")
        return {key: str(value) for key, value in zip(keys + removed, added + deleted, strict=True) if value}

    ours = {"zorder.columns": "a", "zorder.layout-hash": "1"}
    return _of_history(
        "report_first_layer_compacted",
        (
            SnapshotFacts(1, 5, "append", summary((6, 60, 6_001))),
            SnapshotFacts(2, 6, "replace", {**summary((5, 60, 5_003), (6, 60, 6_001)), **ours}),
            SnapshotFacts(3, 7, "append", summary((30, 300, 9_007))),
            SnapshotFacts(4, 8, "replace", {**summary((3, 300, 2_700), (30, 300, 9_007)), **ours, "zorder.layout-hash": "2"}),
            SnapshotFacts(5, 9, "replace", summary((1, 60, 5_000), (5, 60, 5_003))),
        ),
        [4] * 3 + [5],
    )  # fmt: skip


def _of_history(name: str, snapshots: tuple[SnapshotFacts, ...], added_by: list[int]) -> ReportCase:
    """Files side by side."""
    count = len(added_by)
    lower = [1_000 * place for place in range(count)]
    return ReportCase(
        name,
        (BoundsOf(("a",), "long", lower, [each + 999 for each in lower], [1.0] * count),),
        [0] * count,
        [100] * count,
        [900] * count,
        [""],
        snapshots=snapshots,
        added_by=added_by,
    )


def _flags(name: str, added_by: list[int]) -> ReportCase:
    """A flag that is set in few rows, of which bounds tell nothing, in two partitions; partial progress committed twice."""
    files = len(added_by)
    lower = [1_000 * (place % 8) for place in range(files)]
    ours = {
        "zorder.columns": "a,flag",
        "zorder.cuts": "adaptive",
        "added-data-files": "8",
        "deleted-data-files": "8",
    }
    return ReportCase(
        name,
        (
            BoundsOf(("a",), "long", lower, [each + 999 for each in lower], [1.0] * files),
            BoundsOf(("flag",), "boolean", [False] * files, [True] * files, [1.0] * files),
        ),
        [place // 8 for place in range(files)],
        [1_000] * files,
        [1_000] * files,
        ["p=1", "p=2"],
        snapshots=(
            SnapshotFacts(1, 5, "append", {"added-data-files": "16"}),
            SnapshotFacts(2, 6, "replace", {**ours, "zorder.layout-hash": "1"}),
            SnapshotFacts(3, 7, "replace", {**ours, "zorder.layout-hash": "2"}),
        ),
        added_by=added_by,
        by="zorder(a, flag)",
    )
