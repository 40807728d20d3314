"""Describe the parts of plans by what JSON has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from iceberg_zorder.layout.layout_json import layout_hash
from iceberg_zorder.pyiceberg.content_files import Partition
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup, rows_of, size_of
from iceberg_zorder.pyiceberg.plan.layouts import PlannedLayout
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest
from iceberg_zorder.pyiceberg.plan.selection.selection import SelectedFiles


class FilesDescription:
    """Describes data files of a table.

    Parameters
    ----------
    spec : pyiceberg.partitioning.PartitionSpec
        The spec that the plan was made with.
    schema : pyiceberg.schema.Schema
        The table's schema.
    """

    def __init__(self, spec: PartitionSpec, schema: Schema) -> None:
        self._spec = spec
        self._schema = schema

    def group(self, group: FileGroup, layout: PlannedLayout | None) -> dict[str, Any]:
        """Describe a file group that is rewritten."""
        return {
            **self._files(group.key, group.tasks),
            "expected_data_files_count": group.expected_output_files,
            "reason": group.reason,
            "layout": None if layout is None else _layout(layout),
        }

    def left(self, files: SelectedFiles) -> dict[str, Any]:
        """Describe files that are left."""
        return {**self._files(files.key, files.tasks), "reason": files.reason}

    def _files(self, key: Partition, tasks: Sequence[DataFileTask]) -> dict[str, Any]:
        partition = self._spec.partition_to_path(tasks[0].data_file.partition, self._schema) if key else ""
        return {
            "partition": partition,
            "data_files_count": len(tasks),
            "bytes": size_of(tasks),
            "rows": rows_of(tasks),
        }


def workload_dict(request: PlanRequest, layouts: Sequence[PlannedLayout]) -> dict[str, Any] | None:
    """Describe what the queries of a request's workload read of file groups with these layouts; None without one."""
    workload = request.workload
    if workload is None:
        return None
    reads = [each.measured.read for each in layouts]
    return {
        "queries": len(workload.queries),
        "before": workload.mean(each.before for each in reads),
        "predicted": workload.mean(each.predicted for each in reads),
    }


def _layout(planned: PlannedLayout) -> dict[str, Any]:
    layout = planned.layout
    return {
        "curve": layout.curve,
        "data_files_count": layout.files,
        "hash": layout_hash(layout),
        "scan_fractions": dict(planned.scan_fractions),
        "scan_fractions_before": dict(planned.scan_fractions_before),
    }
