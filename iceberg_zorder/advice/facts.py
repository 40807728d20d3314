"""The inputs of ``advise``: facts about a table, its sampled rows, and its workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.box_tree import ADAPTIVE
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.workload.readers.files import Format, is_pipe, sources
from iceberg_zorder.workload.workload import NotUnderstood


@dataclass(frozen=True)
class WorkloadFiles:
    """The files that a workload was read from."""

    files: tuple[str, ...]  # empty if the workload was made in Python
    to: str  # file to write the workload to, unless rewrites can read ``files``
    # Options of the command ``workload`` that read the files, by name without dashes.
    options: Mapping[str, str] = field(default_factory=dict)
    is_json: bool = False  # whether there is a single file that rewrites can read

    @staticmethod
    def of(paths: Sequence[Path], kind: Format | None = None, **options: str | None) -> WorkloadFiles:
        """Describe files or directories, with the options that read them."""
        # A pipe has been read, and has nothing more.
        files = [each for path in paths if not is_pipe(path) for each in sources(path, kind)]
        # Rewrites do not read compressed files, which do not begin with a brace.
        is_json = len(paths) == len(files) == 1 and files[0].kind == "workload" and _begins_with_brace(files[0].path)
        read = [each.path for each in files] if is_json else paths
        given = {"format": kind, **options}
        return WorkloadFiles(
            tuple(str(each.absolute()) for each in read),
            str(Path("workload.json").absolute()),
            {name: value for name, value in given.items() if value is not None},
            is_json,
        )


@dataclass(frozen=True)
class TableFacts:
    """Facts from a table's metadata."""

    catalog: str  # name of the catalog
    identifier: tuple[str, ...]  # name of the table in the catalog
    snapshot_id: int
    files: int  # number of data files
    bytes: int  # of the data files
    target_file_size: int  # of new files in bytes, for a usual number of clustering columns
    options: Mapping[str, str] = field(default_factory=dict)  # of the simulated rewrite
    laid_out_by: tuple[str, ...] = ()  # columns of the newest layout or else of the sort order
    partitioned_by: tuple[str, ...] = ()  # columns of the partitions
    # For each filtered column without bounds, the statement that sets its metrics mode.
    unbounded: Mapping[str, str] = field(default_factory=dict)
    workload: WorkloadFiles = WorkloadFiles((), "workload.json")
    remembers_workload: bool = False  # whether the table's properties name a workload for rewrites
    branch: str | None = None  # None for main
    # Target file sizes by number of clustering columns, where they differ from ``target_file_size``.
    targets: Mapping[int, int] = field(default_factory=dict)
    open_cost: int = 0  # cost of opening a file, in bytes
    cuts: str = ADAPTIVE  # how files are cut


@dataclass(frozen=True)
class JoinedColumn:
    """A column by which queries join the table."""

    name: str
    weight: float  # number of scans that join by it, above 0
    scan_fraction: float  # today's scan fraction of an equality filter on it, in [0, 1]


@dataclass(frozen=True, eq=False)
class QueriesToday:
    """The queries of a workload, and how much of today's data files they read."""

    queries: tuple[JudgedQuery, ...]  # distinct
    # Bytes of the data files that each query reads after pruning by the manifests, shape (queries,).
    bytes: npt.NDArray[np.float64]
    files: npt.NDArray[np.int64]  # number of those data files, shape (queries,)
    columns_only: float = 0.0  # number of scans whose filtered columns are known without their values
    not_understood: tuple[NotUnderstood, ...] = ()  # statements and conditions, most frequent first
    per_day: float | None = None  # scans with filters a day, if known
    joined: tuple[JoinedColumn, ...] = ()  # columns that the table is joined by, those of most scans first


@dataclass(frozen=True, eq=False)
class Facts:
    """The inputs of ``advise``."""

    table: TableFacts
    rows: SampledTable | None  # sampled; None without rows or without a column to simulate
    today: QueriesToday
    compression_factor: float = 1.0  # bytes of new files for each byte of their input

    def sizes(self, target: int) -> FileSizes:
        """Return the sizes of files that a rewrite with a target size writes."""
        return FileSizes.around(target, self.compression_factor)


def _begins_with_brace(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
