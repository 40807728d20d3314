"""How a rewrite tells how far it is."""

from __future__ import annotations

from typing import Protocol

PLAN, SAMPLE, READ, WRITE = "plan", "sample", "read", "write"
"""The stages of a rewrite, in order; the first tells once how much there is of each of the others."""


class Progress(Protocol):
    """Is told of every piece of work when it is done, maybe from several threads."""

    def __call__(self, stage: str, rows: int, size: int, /) -> None:
        """Take note of some work."""


def silent(stage: str, rows: int, size: int) -> None:
    """Take no note."""
