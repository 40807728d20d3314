"""Lead a table through its history: grown again and again, and kept by one system."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from benchmarks.upkeep.figures import Files, History, Step, scan_fractions
from benchmarks.upkeep.rows import BASE_PARTS, MERGES_PER_PART, Values, values_after, values_of
from benchmarks.upkeep.systems import System

MERGE_KEYS = ("l_orderkey", "l_linenumber")
_UPDATED_OF = 200
"""Of so many rows of the table before it grew a merge updates one."""

Say = Callable[[str], None]


class Lead:
    """One table of one system, and the rows that it is made of.

    Parameters
    ----------
    system : System
        The system.
    history : History
        What was found so far; steps are added to it.
    parts : sequence of Path
        The rows.
    steps : int
        How often the table is to grow.
    """

    def __init__(self, system: System, history: History, parts: Sequence[Path], steps: int) -> None:
        self._system, self._history, self._parts, self._last = system, history, [str(part) for part in parts], steps
        self._values: list[Values] = [values_of(part, system.of.columns) for part in parts]

    def go(self, until: float, save: Callable[[], None], say: Say) -> bool:
        """Go on where the history ends.

        Parameters
        ----------
        until : float
            When no further step is begun, as ``time.monotonic()`` has it.
        save : callable
            Keeps the history.
        say : callable
            Takes a line on each step.

        Returns
        -------
        bool
            Whether it was led to its end.
        """
        steps = self._history.steps
        if steps and len(steps) <= self._last:
            self._system.restore(steps[-1].state)
        for number in range(len(steps), self._last + 1):
            if time.monotonic() > until:
                return False
            step = self._grown(number) if number else self._begun()
            steps.append(step)
            save()
            say(_line(self._history, step))
            # Only now, for an interrupted step begins again from the state before it.
            self._system.clean_up()
        self._system.drop()
        return True

    def _begun(self) -> Step:
        self._system.create(self._read(self._parts[:BASE_PARTS]))
        before = self._system.files()
        self._system.rewrite_all()
        step = self._step(0, before, self._system.files())
        return replace(step, full=step.after, predicted=self._system.predicted())

    def _grown(self, number: int) -> Step:
        system = self._system
        if system.of.merges:
            system.merge(self._merged(number), MERGE_KEYS)
        else:
            system.append(self._read(self._parts[BASE_PARTS + number - 1 : BASE_PARTS + number]))
        before, reason = system.files(), system.reason()
        system.upkeep()
        step = self._step(number, before, system.files())
        step = replace(step, predicted=system.predicted(), second_bytes=system.second_bytes(), reason=reason)
        if system.shows_full and number in (self._last // 2, self._last):
            system.rewrite_all()
            step = replace(step, full=scan_fractions(system.files(), self._values_after(number)))
            system.restore(step.state)
        return step

    def _step(self, number: int, before: Files, after: Files) -> Step:
        values = self._values_after(number)
        return Step(
            number,
            self._system.state(),
            before.bytes,
            scan_fractions(before, values),
            scan_fractions(after, values),
            sum(size for path, size in after.sizes.items() if path not in before.sizes),
            sum(size for path, size in before.sizes.items() if path not in after.sizes),
            len(after.sizes),
            after.delete_files,
        )

    def _values_after(self, number: int) -> Values:
        return values_after(number, self._values, merges=self._system.of.merges)

    def _read(self, parts: Sequence[str]) -> DataFrame:
        return self._system.spark.read.parquet(*parts)

    def _merged(self, number: int) -> DataFrame:
        part, share = divmod(number - 1, MERGES_PER_PART)
        inserted = self._read([self._parts[BASE_PARTS + part]])
        inserted = inserted.where(f.pmod(f.xxhash64("l_orderkey"), f.lit(MERGES_PER_PART)) == share)
        updated = self._read(self._parts[:BASE_PARTS])
        updated = updated.where(f.pmod(f.xxhash64(*MERGE_KEYS), f.lit(_UPDATED_OF)) == number - 1)
        quantity = (f.col("l_quantity") + 1).cast(updated.schema["l_quantity"].dataType)
        return updated.withColumn("l_quantity", quantity).unionByName(inserted)


def _line(history: History, step: Step) -> str:
    of_full = "" if step.ratio is None else f" ({step.ratio:.3f} of a full rewrite's)"
    written = step.written_bytes / step.table_bytes
    second = f", a second run {step.second_bytes / 1e6:,.1f} MB" if step.second_bytes else ""
    deletes = f", {step.delete_files} delete files" if step.delete_files else ""
    return (
        f"{history.set}, {history.system}, {step.number}: reads {step.scan:.2%}{of_full}, wrote {written:.1%} of "
        f"{step.table_bytes / 1e6:,.0f} MB, {step.files} files{deletes}{second}"
    )
