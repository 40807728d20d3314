"""How a rewrite tells how far it is."""

from __future__ import annotations

from typing import Protocol

SAMPLE, READ, WRITE = "sample", "read", "write"
"""The stages of a rewrite, in order."""


class Progress(Protocol):
    """Is told of every piece of work when it is done, maybe from several threads."""

    def __call__(self, stage: str, rows: int, size: int) -> None:
        """Take note of some work.

        Parameters
        ----------
        stage : str
            ``"sample"``, ``"read"`` or ``"write"``.
        rows : int
            Rows that were sampled from (deleted ones included), read, or written.
        size : int
            Bytes of the data files that they are in, as far as is known by then.
        """


def silent(stage: str, rows: int, size: int) -> None:
    """Take no note."""
