"""How a rewrite tells how far it is."""

from __future__ import annotations

from typing import Protocol

PLAN, SAMPLE, READ, WRITE = "plan", "sample", "read", "write"
"""The stages of a rewrite, in order; the first tells once how much there is of each of the others."""


class Progress(Protocol):
    """Is told of every piece of work when it is done, maybe from several threads."""

    def __call__(self, stage: str, rows: int, size: int, /) -> None:
        """Take note of some work.

        Parameters
        ----------
        stage : str
            ``"plan"``, ``"sample"``, ``"read"`` or ``"write"``; of advice ``"screen"``, ``"simulate"`` or
            ``"refine"``, where each layout counts for its share of the table.
        rows : int
            Rows that were planned, sampled from (deleted ones included), read, or written.
        size : int
            Bytes of the data files that they are in, as far as is known by then.
        """


def silent(stage: str, rows: int, size: int) -> None:
    """Take no note."""
