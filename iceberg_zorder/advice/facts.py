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
    """The files that a workload was read from.

    Parameters
    ----------
    files : tuple of str
        The files; empty if the workload was made in Python.
    to : str
        File to write the workload to, unless rewrites can read ``files``.
    options : mapping of str to str, optional
        Options of the command ``workload`` that read the files, by name without dashes.
    is_json : bool, optional
        Whether there is a single file that rewrites can read.
    """

    files: tuple[str, ...]
    to: str
    options: Mapping[str, str] = field(default_factory=dict)
    is_json: bool = False

    @staticmethod
    def of(paths: Sequence[Path], kind: Format | None = None, **options: str | None) -> WorkloadFiles:
        """Describe files or directories, with the options that read them."""
        # A pipe has been read, and has nothing more.
        found = [each for path in paths if not is_pipe(path) for each in sources(path, kind)]
        # Rewrites do not read compressed files, which do not begin with a brace.
        is_json = len(paths) == len(found) == 1 and found[0].kind == "workload" and _begins_with_brace(found[0].path)
        read = [each.path for each in found] if is_json else paths
        given = {"format": kind, **options}
        return WorkloadFiles(
            tuple(str(each.absolute()) for each in read),
            str(Path("workload.json").absolute()),
            {name: value for name, value in given.items() if value is not None},
            is_json,
        )


@dataclass(frozen=True)
class TableFacts:
    """Facts from a table's metadata.

    Parameters
    ----------
    catalog : str
        Name of the catalog.
    identifier : tuple of str
        Name of the table in the catalog.
    snapshot_id : int
        The snapshot.
    files, bytes : int
        Number and bytes of the data files.
    target_file_size : int
        Target size of new files in bytes, for a usual number of clustering columns.
    options : mapping of str to str
        Options of the simulated rewrite.
    laid_out_by, partitioned_by : tuple of str
        Columns of the newest layout or else of the sort order, and columns of the partitions.
    unbounded : mapping of str to str
        For each filtered column without bounds, the statement that sets its metrics mode.
    workload : WorkloadFiles, optional
        The files of the workload.
    remembers_workload : bool, optional
        Whether the table's properties name a workload for rewrites.
    branch : str or None, optional
        The branch; None for main.
    targets : mapping of int to int, optional
        Target file sizes by number of clustering columns, where they differ from ``target_file_size``.
    open_cost : int, optional
        Cost of opening a file, in bytes.
    cuts : str, optional
        How files are cut.
    """

    catalog: str
    identifier: tuple[str, ...]
    snapshot_id: int
    files: int
    bytes: int
    target_file_size: int
    options: Mapping[str, str] = field(default_factory=dict)
    laid_out_by: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    unbounded: Mapping[str, str] = field(default_factory=dict)
    workload: WorkloadFiles = WorkloadFiles((), "workload.json")
    remembers_workload: bool = False
    branch: str | None = None
    targets: Mapping[int, int] = field(default_factory=dict)
    open_cost: int = 0
    cuts: str = ADAPTIVE


@dataclass(frozen=True)
class JoinedColumn:
    """A column by which queries join the table.

    Parameters
    ----------
    name : str
        Name of the column.
    weight : float
        Number of scans that join by it, above 0.
    scan_fraction : float
        Today's scan fraction of an equality filter on it, in [0, 1].
    """

    name: str
    weight: float
    scan_fraction: float


@dataclass(frozen=True, eq=False)
class QueriesToday:
    """The queries of a workload, and how much of today's data files they read.

    Parameters
    ----------
    queries : tuple of JudgedQuery
        Distinct queries.
    bytes : ndarray of float64, shape (queries,)
        Bytes of the data files that each query reads after pruning by the manifests.
    files : ndarray of int64, shape (queries,)
        Number of those data files.
    columns_only : float
        Number of scans whose filtered columns are known without their values.
    not_understood : tuple of NotUnderstood
        Statements and conditions that were not understood, most frequent first.
    per_day : float or None
        Scans with filters a day, if known.
    joined : tuple of JoinedColumn
        Columns that the table is joined by, those of most scans first.
    """

    queries: tuple[JudgedQuery, ...]
    bytes: npt.NDArray[np.float64]
    files: npt.NDArray[np.int64]
    columns_only: float = 0.0
    not_understood: tuple[NotUnderstood, ...] = ()
    per_day: float | None = None
    joined: tuple[JoinedColumn, ...] = ()


@dataclass(frozen=True, eq=False)
class Facts:
    """The inputs of ``advise``.

    Parameters
    ----------
    table : TableFacts
        The table.
    rows : SampledTable or None
        Sampled rows; None without rows or without a column to simulate.
    today : QueriesToday
        The workload.
    compression_factor : float
        Bytes of new files for each byte of their input.
    """

    table: TableFacts
    rows: SampledTable | None
    today: QueriesToday
    compression_factor: float = 1.0

    def sizes(self, target: int) -> FileSizes:
        """Return the sizes of files that a rewrite with a target size writes."""
        return FileSizes.around(target, self.compression_factor)


def _begins_with_brace(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
