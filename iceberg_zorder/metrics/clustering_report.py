"""The clustering report: its values and its JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from iceberg_zorder.displayed import Printed
from iceberg_zorder.metrics.data_files import FileBoxes
from iceberg_zorder.metrics.history import LayoutHistory

VERSION = 1

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class ColumnReport:
    """A clustering column."""

    name: str
    field: str  # full name in properties
    type: str  # Iceberg's
    metrics_mode: str
    # Share of the bytes that ``column = value`` reads, in [0, 1]: average over values spread between the bounds; None
    # if no row has a value.
    scan_fraction: float | None
    attainable: float | None  # predicted scan fraction after a full rewrite
    # Average number of data files that the same filters read, today and predicted after a full rewrite.
    average_file_count: float | None
    attainable_file_count: float | None
    # Data files with values but without bounds.
    files_without_bounds: int
    bytes_without_bounds: int
    # Data files whose truncated bounds equal those of other files.
    files_with_alike_bounds: int
    bytes_with_alike_bounds: int
    # Data files that lack only the upper bound, because no truncated value is above their values.
    files_without_upper_bounds: int = 0
    bytes_without_upper_bounds: int = 0


@dataclass(frozen=True)
class PredicateReport:
    """A predicate: the share of the bytes and the files that it reads, and the attainable share."""

    predicate: str
    scan_fraction: float | None
    total_file_count: int
    attainable: float | None


@dataclass(frozen=True)
class QueryRead:
    """A query: its share of all queries and the share of the bytes that it reads, in [0, 1], and the files."""

    filter: str
    share: float
    scan_fraction: float
    total_file_count: int


@dataclass(frozen=True)
class WorkloadRead:
    """What a workload's queries read."""

    queries: int  # number of distinct queries
    scan_fraction: float | None  # average share of the bytes that a query reads, in [0, 1]; None without bytes
    average_file_count: float  # average number of data files that a query reads
    costliest: tuple[QueryRead, ...]  # queries with the largest total reads (weight times bytes), largest first


@dataclass(frozen=True)
class PartitionReport:
    """A partition: its files, and the figures of :class:`ColumnReport` by column."""

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
    """The sizes of data files, and a rewrite's size limits, in bytes."""

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
    """The rewrite that a report recommends, with its columns, filter and branch."""

    files: int  # data files to rewrite
    bytes: int  # of these files
    expected_files: int  # expected number of new data files
    saved_bytes: float  # predicted savings of a filter: bytes read and open costs, in bytes
    reason: str  # for the rewrite, or for doing nothing
    command: str | None  # runs the rewrite; None if there is nothing to do


@dataclass(frozen=True)
class Finding:
    """A problem or a fact that affects skipping."""

    code: str  # kind of finding; ``docs/do/read-a-report.md`` lists them
    severity: Severity  # ``error`` if no layout can make files skippable, ``warning`` if an action pays, else ``info``
    message: str  # one sentence
    evidence: Mapping[str, Any]  # figures behind the message
    command: str | None = None  # fixes the problem, if there is one


@dataclass(frozen=True)
class ClusteringReport(Printed):
    """How well a table is clustered.

    ``docs/reference/json/report.md`` lists the keys. No key is removed while ``version`` is 1.

    Names from Snowflake's ``SYSTEM$CLUSTERING_INFORMATION`` have the same meaning, with data files in place of
    micro-partitions. A constant file has one value in each clustering column. ``sort_order`` is the report's sort
    order, as a rewrite takes it. ``workload`` has what the queries read, if known. ``recommendation`` is None for
    older snapshots. ``cost`` is a filter's cost in bytes, averaged over columns by weight; ``attainable_cost`` is the
    same after a full rewrite. ``snapshot_timestamp_ms`` is the snapshot's commit time.
    """

    kind = "report"

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
    files_without_rows: int = field(default=0, kw_only=True)
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
        """A filter's cost relative to the attainable cost; None if either is unknown."""
        return self.cost / self.attainable_cost if self.cost is not None and self.attainable_cost else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report in JSON types, without the boxes, which are for charts."""
        described = asdict(replace(self, boxes=None))
        for key in ("boxes", *(["workload"] if self.workload is None else [])):
            del described[key]
        return described

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2)
