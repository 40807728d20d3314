"""Facts about a table and its workload that ``advise`` needs before it simulates candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.candidates import ExpectedFiles
from iceberg_zorder.advice.compression import Rewritten
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.box_tree import ADAPTIVE
from iceberg_zorder.workload.readers.files import Format, sources
from iceberg_zorder.workload.workload import NotUnderstood


@dataclass(frozen=True)
class WorkloadFiles:
    """Where a workload was read from, and how.

    Parameters
    ----------
    files : tuple of str
        The files; none if it was made in Python.
    to : str
        The file that it is to be written to, unless it lies where rewrites can read it.
    options : mapping of str to str, optional
        The options by which the command ``workload`` reads the files so, by their names without dashes.
    is_json : bool, optional
        Whether there is one file, which rewrites can read.
    """

    files: tuple[str, ...]
    to: str
    options: Mapping[str, str] = field(default_factory=dict)
    is_json: bool = False

    @staticmethod
    def of(paths: Sequence[Path], kind: Format | None = None, **options: str | None) -> WorkloadFiles:
        """Describe files, or directories of them, of a kind if that is told, and the other options that were given."""
        found = [each for path in paths for each in sources(path, kind)]
        # Compressed ones do not begin so, and rewrites do not read them.
        is_json = len(found) == 1 and found[0].kind == "workload" and _begins_with_brace(found[0].path)
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
    """What metadata tell of a table.

    Parameters
    ----------
    catalog : str
        The catalog's name.
    identifier : tuple of str
        The table's name in it.
    snapshot_id : int
        The snapshot.
    files, bytes : int
        Its data files, and their bytes.
    target_file_size : int
        Bytes that new files are to have, by the columns of a usual layout.
    options : mapping of str to str
        The options of a rewrite that this is by.
    laid_out_by, partitioned_by : tuple of str
        The columns of its newest layout, or of its sort order; and those of its partitions.
    unbounded : mapping of str to str
        By the name of a column that filters use and of which the table keeps no bounds, the statement that changes it.
    workload : WorkloadFiles, optional
        Where its workload was read from.
    remembers_workload : bool, optional
        Whether rewrites take a workload that its properties name.
    branch : str or None, optional
        The branch, if that is not main.
    targets : mapping of int to int, optional
        The target file size by the number of clustering columns, where that is another one.
    open_cost : int, optional
        Bytes that cost as much as to open a file.
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
        Its name.
    weight : float
        How many scans do so, above 0.
    scan_fraction : float
        The share of the bytes of today that an equality by it reads, in [0, 1].
    """

    name: str
    weight: float
    scan_fraction: float


@dataclass(frozen=True, eq=False)
class QueriesToday:
    """The queries of a workload, and what they read of the data files of today.

    Parameters
    ----------
    queries : tuple of JudgedQuery
        Different ones.
    bytes : ndarray of float64, shape (queries,)
        The bytes of the data files that each reads, as manifests let engines choose them.
    files : ndarray of int64, shape (queries,)
        Their number.
    columns_only : float
        The weight of scans of which only the columns are known.
    not_understood : tuple of NotUnderstood
        Statements and parts of them that were not understood, the most frequent first.
    per_day : float or None
        How many scans with filters there are a day, if that is known.
    joined : tuple of JoinedColumn
        The columns by which they join the table, those of most scans first.
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
    """All that advice is made of.

    Parameters
    ----------
    table : TableFacts
        The table.
    rows : SampledTable or None
        Its sampled rows; None if there are none, or no column to simulate.
    today : QueriesToday
        The workload.
    expected_files : callable
        From a target file size to what tells how many files so many bytes are written to.
    rewritten : Rewritten, optional
        What some rows come to that are written anew.
    """

    table: TableFacts
    rows: SampledTable | None
    today: QueriesToday
    expected_files: Callable[[int], ExpectedFiles]
    rewritten: Rewritten | None = None


def _begins_with_brace(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
