"""Which data files are rewritten, which are left, and why: a function of all files that a rewrite may touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from iceberg_zorder.pyiceberg.content_files import Partition
from iceberg_zorder.pyiceberg.file_groups import DataFileTask


@dataclass(frozen=True, eq=False)
class PartitionFiles:
    """The data files of one partition, or those of all other specs than the table's current one.

    Parameters
    ----------
    key : tuple
        As :attr:`iceberg_zorder.pyiceberg.file_groups.FileGroup.key`.
    tasks : tuple of DataFileTask
        The data files, at least one.
    """

    key: Partition
    tasks: tuple[DataFileTask, ...]


@dataclass(frozen=True, eq=False)
class SelectedFiles:
    """Data files of one partition that have one fate, and why.

    Parameters
    ----------
    key : tuple
        As :attr:`PartitionFiles.key`.
    tasks : tuple of DataFileTask
        The data files, at least one.
    reason : str
        Why they are rewritten together, or left, in words that name options and their values.
    worth : float, optional
        Of chosen files, the bytes that a filter is expected to read less for each byte of them; 0 if it is not known.
    is_finer : bool, optional
        Whether they are written to as many files as a small part of a partition is.
    """

    key: Partition
    tasks: tuple[DataFileTask, ...]
    reason: str
    worth: float = 0.0
    is_finer: bool = False


@dataclass(frozen=True, eq=False)
class Selected:
    """The fate of every data file: it is in ``chosen`` or in ``left``, once.

    Parameters
    ----------
    chosen : tuple of SelectedFiles
        What is rewritten, a file group each.
    left : tuple of SelectedFiles
        What is not.
    message : str or None
        When nothing is chosen: why, and what would force it.
    """

    chosen: tuple[SelectedFiles, ...]
    left: tuple[SelectedFiles, ...]
    message: str | None


class Selection(Protocol):
    """Chooses among data files."""

    def select(self, scope: Sequence[PartitionFiles]) -> Selected:
        """Choose what is rewritten."""
