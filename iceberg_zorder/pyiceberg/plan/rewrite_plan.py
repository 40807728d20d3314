"""The plan of a rewrite: data only, with JSON that either engine executes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.displayed import Printed
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.layout import layout_hash
from iceberg_zorder.pyiceberg.files import DataFileTask, FileGroup, PartitionFiles, SampledGroup, left_files
from iceberg_zorder.pyiceberg.plan.rewrite_spec import RewriteSpec
from iceberg_zorder.pyiceberg.plan.scan_measure import ScanMeasure
from iceberg_zorder.pyiceberg.plan.selection import TargetSize
from iceberg_zorder.rewrite.messages import NOT_IN_PLAN, WAITING, Reason
from iceberg_zorder.rewrite.metrics_check import MetricsFindings
from iceberg_zorder.rewrite.options import SPILL_DIRECTORY
from iceberg_zorder.rewrite.result import ColumnScan, PredicateScan, TableFiles, WorkloadScan
from iceberg_zorder.rewrite.snapshot_keys import YOUNG_WAIT
from iceberg_zorder.workload.workload_option import is_inline, workload_queries

VERSION = 1


@dataclass(frozen=True, eq=False)
class RewritePlan(Printed):
    """The plan of a rewrite: the data files that it rewrites together, the files that it leaves, and the reasons.

    A plan belongs to one snapshot. Appends do not invalidate it. A change to the files of the plan, to the schema or to
    the partition spec makes it stale: :func:`execute` and :func:`sample` then refuse it. ``str(plan)`` is text for
    people.

    Parameters
    ----------
    table, table_uuid : str
        The table's full name and its UUID.
    snapshot_id : int or None
        The snapshot that the plan belongs to; None if the table has no snapshot.
    schema_id, spec_id : int
        The table's schema and partition spec.
    spec : RewriteSpec
        The request, with defaults from the table's properties.
    groups : tuple of FileGroup
        The file groups to rewrite, in this order, each with the reasons why it was chosen.
    left : tuple of PartitionFiles
        The data files that are left alone, by partition and reason.
    message : str or None
        Why there is no file group, and which option would force one; None if there is one.
    target : TargetSize or None
        The target size of new files, and its origin; None if it is not known.
    relisted : tuple of DataFileTask
        The skipped data files, if the plan was read from JSON: the ``left`` of such a plan has only their counts.
    """

    kind = "plan"

    table: str
    table_uuid: str
    snapshot_id: int | None
    schema_id: int
    spec_id: int
    spec: RewriteSpec
    groups: tuple[FileGroup, ...] = ()
    left: tuple[PartitionFiles, ...] = ()
    message: str | None = None
    target: TargetSize | None = None
    relisted: tuple[DataFileTask, ...] = field(default=(), kw_only=True)

    @property
    def end_marker(self) -> str | None:
        """What the last commit writes as ``zorder.settled-from-snapshot-id``; None if the plan is not all there is."""
        codes = {why.code for each in self.left for why in each.reasons}
        if not codes.isdisjoint(WAITING):
            return None
        return YOUNG_WAIT if "young" in codes else str(self.snapshot_id)

    @property
    def left_tasks(self) -> list[DataFileTask]:
        """The data files that are left."""
        return [*(task for each in self.left for task in each.tasks), *self.relisted]

    @property
    def limit_message(self) -> str:
        """A hint at ``max-files-to-rewrite`` for plans that rewrite nothing; empty if the option holds no file back."""
        waiting = [
            (each.data_files_count, of.parameters["max_files_to_rewrite"])
            for each in self.left
            for of in each.reasons
            if of.code == "max-files-to-rewrite"
        ]
        if not waiting:
            return ""
        count, limit = sum(files for files, _ in waiting), waiting[0][1]
        return f" {count:,} more data files wait behind max-files-to-rewrite {limit:,}: raise it to reach them."

    def with_groups(self, indices: Collection[int]) -> RewritePlan:
        """Return an unsampled plan with some of its file groups; the others move to ``left`` for a later rewrite."""
        # Layouts and predictions are of all file groups together.
        groups = tuple(group for group in self.groups if group.index in indices)
        others = (group for group in self.groups if group.index not in indices)
        waiting = (left_files(group, Reason(NOT_IN_PLAN)) for group in others)
        return self.unsampled(groups=groups, left=(*self.left, *waiting))

    def unsampled(self, **changes: Any) -> RewritePlan:
        """Return the plan without layouts and predictions, with some fields changed."""
        return RewritePlan(**self._fields() | changes)

    def sampled(self, **predictions: Any) -> SampledPlan:
        """Return the plan with layouts and predictions."""
        return SampledPlan(**self._fields(), **predictions)

    def _fields(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(RewritePlan)}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a dictionary for JSON; ``docs/reference/json.md`` lists the keys.

        Returns
        -------
        dict
            The plan. Keys may be added; none is removed while ``"version"`` is 1.
        """
        spec, target = self.spec, self.target
        where = None if spec.where is None else str(spec.where)
        return {
            "version": VERSION,
            "table": self.table,
            "table_uuid": self.table_uuid,
            "branch": spec.branch,
            "snapshot_id": self.snapshot_id,
            "schema_id": self.schema_id,
            "spec_id": self.spec_id,
            "case_sensitive": spec.case_sensitive,
            "planned_at_ms": spec.at_ms,
            "sort_order": spec.sort_order,
            "where": where,
            **({} if where == spec.where else {"where_is_sql": False}),
            "options": spec.stored_options,
            "target_file_size_bytes": None if target is None else target.size,
            "target_file_size_from": None if target is None else target.source,
            "message": self.message,
            "file_groups": [_chosen(group) for group in self.groups],
            "left": [{**_counts(group), **_reasons(group)} for group in self.left],
            "before": None,
            "after": None,
            "scans": [],
            "expected_seconds": None,
            "predicates": [],
            "workload": None if spec.queries is None else _shares(WorkloadScan(len(spec.queries), None, None, None)),
        }

    def to_json(self) -> str:
        """Return the plan as JSON; see :meth:`to_dict`."""
        return json.dumps(self.to_dict(), indent=2)

    @staticmethod
    def from_json(text: str) -> RewritePlan:
        """Read a plan that either engine wrote.

        Parameters
        ----------
        text : str
            The JSON of a plan. File groups that were dropped after sampling stay dropped.

        Returns
        -------
        RewritePlan
            The plan without layouts: sampling it again gives the same layouts.

        Raises
        ------
        InvalidInputError
            When the text is not JSON, or not a plan of a known version.

        Examples
        --------
        >>> from iceberg_zorder.pyiceberg import plan_rewrite
        >>> plan = plan_rewrite(lake.load_table("db.events"), ["user_id", "ts"])
        >>> RewritePlan.from_json(plan.to_json()).to_json() == plan.to_json()
        True
        >>> RewritePlan.from_json('{"version": 2}')
        Traceback (most recent call last):
        iceberg_zorder.errors.InvalidInputError: Cannot read the plan, because version: Input should be 1
        """
        try:
            return _Plan.model_validate_json(text).plan()
        except ValidationError as error:
            first = error.errors()[0]
            why = [".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")]
            raise InvalidInputError(f"Cannot read the plan, because {': '.join(filter(None, why))}") from error


@dataclass(frozen=True, eq=False)
class SampledPlan(RewritePlan):
    """A plan with layouts and predictions; file groups that would not gain have moved to ``left``.

    Parameters
    ----------
    sampled_groups : tuple of SampledGroup
        The file groups with their layouts.
    measure : ScanMeasure or None
        What scan fractions are measured by, with the sort order on the table; None without a file group to sample.
    metrics : MetricsFindings
        The columns whose bounds are missing or too short.
    scans : tuple of ColumnScan
        What a filter ``column = value`` reads today, and is predicted to read, for each column with values.
    before, after : TableFiles or None
        The number and bytes of the table's data files, or of those that may match ``where``.
    expected_seconds : float or None
        The expected duration in seconds, from earlier rewrites; None without earlier rewrites.
    predicates : tuple of PredicateScan
        What the given conditions read today, and are predicted to read.
    workload : WorkloadScan or None
        What the workload's queries read of the table; None without a workload.
    warnings : tuple of str
        Warnings for the user, one sentence each.
    """

    sampled_groups: tuple[SampledGroup, ...] = ()
    measure: ScanMeasure | None = None
    metrics: MetricsFindings = field(default_factory=MetricsFindings)
    scans: tuple[ColumnScan, ...] = ()
    before: TableFiles | None = None
    after: TableFiles | None = None
    expected_seconds: float | None = None
    predicates: tuple[PredicateScan, ...] = ()
    workload: WorkloadScan | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a dictionary for JSON; see :meth:`RewritePlan.to_dict`."""
        plan = super().to_dict()
        for described, each in zip(plan["file_groups"], self.sampled_groups, strict=True):
            described["layout"] = {
                "curve": each.layout.curve,
                "data_files_count": each.layout.files,
                "hash": layout_hash(each.layout),
                "scan_fractions": dict(each.scan_fractions),
                "scan_fractions_before": dict(each.scan_fractions_before),
            }
        return plan | {
            "before": None if self.before is None else asdict(self.before),
            "after": None if self.after is None else asdict(self.after),
            "scans": [{name: of for name, of in asdict(each).items() if "actual" not in name} for each in self.scans],
            "expected_seconds": self.expected_seconds,
            "predicates": [asdict(each) for each in self.predicates],
            "workload": None if self.workload is None else _shares(self.workload),
        }


def planned_snapshot(table: Table, plan: RewritePlan) -> Snapshot | None:
    """Return the snapshot that was planned on, if the table still has it."""
    return None if plan.snapshot_id is None else table.snapshot_by_id(plan.snapshot_id)


def _chosen(group: FileGroup) -> dict[str, Any]:
    return {
        **_counts(group),
        "expected_data_files_count": group.expected_output_files,
        "spec_id": group.spec_id,
        "max_output_file_size_bytes": group.max_output_file_size,
        "extents": dict(group.extents),
        "must_rewrite": group.must_rewrite,
        **_reasons(group),
        "data_files": [{"path": path, "deletes": list(deletes)} for path, deletes in group.data_files.items()],
        "layout": None,
    }


def _counts(group: PartitionFiles) -> dict[str, Any]:
    return {
        "partition": group.partition_path,
        "data_files_count": group.data_files_count,
        "bytes": group.input_size,
        "rows": group.rows,
    }


def _reasons(group: PartitionFiles) -> dict[str, Any]:
    return {"reasons": [asdict(each) for each in group.reasons], "reason": group.reason}


def _shares(scan: WorkloadScan) -> dict[str, Any]:
    return {"queries": scan.queries, "before": scan.before, "predicted": scan.predicted}


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class _Reason(_Strict):
    code: str
    parameters: dict[str, Any] = {}


class _DataFile(_Strict):
    path: str
    deletes: list[str] = []


class _Left(_Strict):
    partition: str
    data_files_count: int = Field(ge=1)
    bytes: int
    rows: int
    reasons: list[_Reason]

    def files(self) -> PartitionFiles:
        reasons = tuple(Reason(each.code, each.parameters) for each in self.reasons)
        return PartitionFiles((), self.partition, reasons, (self.data_files_count, self.bytes, self.rows))


class _Group(_Left):
    expected_data_files_count: int = Field(ge=1)
    spec_id: int
    max_output_file_size_bytes: int = Field(ge=1)
    extents: dict[str, Annotated[int, Field(ge=1, le=1_000)]]
    must_rewrite: bool
    data_files: list[_DataFile] = Field(min_length=1)

    def group(self, index: int) -> FileGroup:
        files = self.files()
        return FileGroup(
            (),
            files.partition_path,
            files.reasons,
            files.counts,
            index=index,
            spec_id=self.spec_id,
            expected_output_files=self.expected_data_files_count,
            max_output_file_size=self.max_output_file_size_bytes,
            extents=self.extents,
            must_rewrite=self.must_rewrite,
            stored_files={each.path: tuple(each.deletes) for each in self.data_files},
        )


class _Plan(_Strict):
    version: int
    table: str
    table_uuid: str
    branch: str
    snapshot_id: int | None
    schema_id: int
    spec_id: int
    sort_order: str
    where: str | None
    where_is_sql: bool = True
    options: dict[str, str]
    case_sensitive: bool
    planned_at_ms: int
    target_file_size_bytes: Annotated[int, Field(ge=1)] | None
    target_file_size_from: str | None
    message: str | None
    file_groups: list[_Group]
    left: list[_Left]

    @field_validator("version")
    @classmethod
    def check_version(cls, version: int) -> int:
        # Literal[1] would take 1.0 and true.
        if version != VERSION:
            raise ValueError(f"Input should be {VERSION}")
        return version

    @model_validator(mode="after")
    def check(self) -> _Plan:
        if not self.where_is_sql:
            raise ValueError("its where is a PyIceberg expression, which has no JSON form: plan with SQL")
        of_groups = self.snapshot_id, self.target_file_size_bytes, self.target_file_size_from
        if self.file_groups and None in of_groups:
            raise ValueError("it has file groups, but no snapshot or no target file size")
        paths = Counter(file.path for group in self.file_groups for file in group.data_files)
        for path, times in paths.most_common(1):
            if times > 1:
                raise ValueError(f"data file {path} appears {times} times")
        if SPILL_DIRECTORY in self.options:
            raise ValueError(f"its option {SPILL_DIRECTORY} is for who executes it to choose: use TMPDIR")
        if not is_inline(self.options.get("workload", "{")):
            raise ValueError("its option workload names a file, whose queries may have changed: plan again")
        return self

    def plan(self) -> RewritePlan:
        size, source = self.target_file_size_bytes, self.target_file_size_from
        workload = self.options.get("workload")
        return RewritePlan(
            self.table,
            self.table_uuid,
            self.snapshot_id,
            self.schema_id,
            self.spec_id,
            RewriteSpec(
                self.sort_order,
                self.where,
                self.options,
                self.branch,
                self.case_sensitive,
                self.planned_at_ms,
                queries=None if workload is None else tuple(workload_queries(workload, lambda *_: b"")),
            ),
            tuple(each.group(number) for number, each in enumerate(self.file_groups, 1)),
            tuple(each.files() for each in self.left),
            self.message,
            None if size is None or source is None else TargetSize(size, source, source),
        )
