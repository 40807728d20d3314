"""The clustering report: its values and its JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from iceberg_zorder.metrics.data_files import FileBoxes
from iceberg_zorder.metrics.history import LayoutHistory
from iceberg_zorder.render.fragments import report_fragment
from iceberg_zorder.render.report_text import report_text

VERSION = 1

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class ColumnReport:
    """A clustering column.

    Parameters
    ----------
    name, field, type, metrics_mode : str
        What it is, also as properties name it, and what is kept of it.
    scan_fraction : float or None
        The share of the bytes that ``column = value`` reads, on average over the values of rows spread between the
        bounds, in [0, 1]; None if no row has a value.
    attainable : float or None
        What a full rewrite is predicted to make of it.
    average_file_count, attainable_file_count : float or None
        How many data files the same filters read on average, today and as predicted of a full rewrite.
    files_without_bounds, bytes_without_bounds : int
        Data files that have values and no bounds.
    files_with_alike_bounds, bytes_with_alike_bounds : int
        Data files whose bounds were cut where their values had not begun to differ, as those of other files.
    files_without_upper_bounds, bytes_without_upper_bounds : int
        Of those without bounds, the ones that lack the upper bound only, because no cut one lies above their values.
    """

    name: str
    field: str
    type: str
    metrics_mode: str
    scan_fraction: float | None
    attainable: float | None
    average_file_count: float | None
    attainable_file_count: float | None
    files_without_bounds: int
    bytes_without_bounds: int
    files_with_alike_bounds: int
    bytes_with_alike_bounds: int
    files_without_upper_bounds: int = 0
    bytes_without_upper_bounds: int = 0


@dataclass(frozen=True)
class PredicateReport:
    """A predicate: the share of the bytes that it reads, the files, and what a full rewrite would make of the share."""

    predicate: str
    scan_fraction: float | None
    total_file_count: int
    attainable: float | None


@dataclass(frozen=True)
class QueryRead:
    """A query: its share of all, the share of the bytes that it reads, both in [0, 1], and the files."""

    filter: str
    share: float
    scan_fraction: float
    total_file_count: int


@dataclass(frozen=True)
class WorkloadRead:
    """What queries read.

    Parameters
    ----------
    queries : int
        How many different ones there are.
    scan_fraction : float or None
        The share of the bytes that they read on average, in [0, 1]; None without bytes.
    average_file_count : float
        How many data files they read on average.
    costliest : tuple of QueryRead
        Those that read most in all, by how often they are asked, first.
    """

    queries: int
    scan_fraction: float | None
    average_file_count: float
    costliest: tuple[QueryRead, ...]


@dataclass(frozen=True)
class PartitionReport:
    """A partition: its files, and by column what :class:`ColumnReport` has of the table."""

    partition: str
    total_file_count: int
    total_constant_file_count: int
    bytes: int
    rows: int
    average_overlaps: float | None
    average_depth: float | None
    scan_fractions: dict[str, float]
    attainable: dict[str, float]


@dataclass(frozen=True)
class SizeReport:
    """How many data files have which size; bounds in bytes as for a rewrite."""

    target_file_size_bytes: int
    min_file_size_bytes: int
    max_file_size_bytes: int
    smallest_bytes: int
    median_bytes: int
    largest_bytes: int
    files_below_min: int
    files_above_max: int
    files_after_rewrite: int


@dataclass(frozen=True)
class Recommendation:
    """What a rewrite would do now, by the columns, the filter and the branch of a report.

    Parameters
    ----------
    files, bytes : int
        The data files that it would choose.
    expected_files : int
        The data files that it would write.
    saved_bytes : float
        What a filter would cost less on average, in bytes read and open costs.
    reason : str
        Why it would choose them, or why it would do nothing.
    command : str or None
        The command for it; None if it would do nothing.
    """

    files: int
    bytes: int
    expected_files: int
    saved_bytes: float
    reason: str
    command: str | None


@dataclass(frozen=True)
class Finding:
    """Something that keeps queries from skipping files.

    Parameters
    ----------
    code : str
        What it is; ``docs/do/read-a-report.md`` lists them.
    severity : str
        ``error`` where files cannot be skipped whatever their layout, ``warning`` where something pays, else ``info``.
    message : str
        A sentence.
    evidence : mapping of str to object
        The figures behind it.
    command : str or None
        What mends it, if a command does.
    """

    code: str
    severity: Severity
    message: str
    evidence: Mapping[str, Any]
    command: str | None = None


@dataclass(frozen=True)
class ClusteringReport:
    """How well a table is clustered.

    ``docs/reference/json/report.md`` lists the keys. No key is removed while ``version`` is 1.

    The names that Snowflake's ``SYSTEM$CLUSTERING_INFORMATION`` has mean what they mean there, with data files in the
    place of its micro-partitions: a constant file has one value in each clustering column. ``sort_order`` is what the
    report is by as a rewrite takes it. ``workload`` is what queries read, where they are known. ``recommendation`` is
    None of an older snapshot. ``cost`` is what a filter costs on average over the columns by their weights, in bytes
    read and open costs, ``attainable_cost`` after a full rewrite. ``snapshot_timestamp_ms`` is when the
    snapshot was committed.
    """

    version: int
    table: str
    branch: str
    snapshot_id: int | None
    where: str | None
    cluster_by_keys: tuple[str, ...]
    sort_order: str = field(kw_only=True)
    total_file_count: int
    total_constant_file_count: int
    total_bytes: int
    total_rows: int
    average_overlaps: float | None
    average_depth: float | None
    file_depth_histogram: dict[str, int]
    measured_file_count: int
    columns: tuple[ColumnReport, ...]
    predicates: tuple[PredicateReport, ...]
    file_sizes: SizeReport
    files_of_old_specs: int
    files_with_deletes: int
    position_delete_files: int
    equality_delete_files: int
    history: LayoutHistory
    total_partition_count: int
    partitions: tuple[PartitionReport, ...]
    findings: tuple[Finding, ...] = ()
    boxes: FileBoxes | None = field(default=None, repr=False)
    workload: WorkloadRead | None = field(default=None, kw_only=True)
    recommendation: Recommendation | None = field(default=None, kw_only=True)
    cost: float | None = field(default=None, kw_only=True)
    attainable_cost: float | None = field(default=None, kw_only=True)
    snapshot_timestamp_ms: int | None = field(default=None, kw_only=True)

    @property
    def cost_ratio(self) -> float | None:
        """How many times the attainable cost a filter costs; None if either is unknown."""
        return self.cost / self.attainable_cost if self.cost is not None and self.attainable_cost else None

    @property
    def cluster_by(self) -> str:
        """The columns as a sort order."""
        return ", ".join(self.cluster_by_keys)

    def to_dict(self) -> dict[str, Any]:
        """Describe the report by what JSON has: all but the boxes, which are for pictures."""
        described = asdict(replace(self, boxes=None))
        for key in ("boxes", *(["workload"] if self.workload is None else [])):
            del described[key]
        return described

    def to_json(self) -> str:
        """Write the report as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        return report_text(self.to_dict())

    def _repr_html_(self) -> str:
        return report_fragment(self.to_dict())
