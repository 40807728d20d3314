"""How the command line speaks: results on stdout, everything else on stderr.

Commands hand values to an :class:`Output` and never print. :class:`ConsoleOutput` writes for people,
:class:`JsonOutput` writes one JSON object per result.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.printable import printable
from iceberg_zorder.render.advice_text import advice_renderables
from iceberg_zorder.render.history_text import history_renderable
from iceberg_zorder.render.pass_text import pass_renderables
from iceberg_zorder.render.report_text import WIDTH, comparison_renderable, report_renderable
from iceberg_zorder.render.result_tables import result_tables
from iceberg_zorder.render.workload_text import workload_renderables
from iceberg_zorder.request.plan_text import plan_text

VERSION = 1
"""Of all JSON: later ones add keys, and none is taken away while it stays."""


class Output(ABC):
    """What a command can say.

    Parameters
    ----------
    quiet : bool
        Leave out progress.
    stdout, stderr : Console, optional
        Where to; default the process's own.
    """

    def __init__(self, *, quiet: bool = False, stdout: Console | None = None, stderr: Console | None = None) -> None:
        self._quiet = quiet
        self._warned: list[str] = []
        self._stdout = stdout or Console()
        self._stderr = stderr or Console(stderr=True)

    @abstractmethod
    def rewritten(
        self, table: str, sort_order: str | None, result: Mapping[str, Any], failed: Failure | None = None
    ) -> None:
        """Show what a rewrite did, or would do; ``failed`` is why not all.

        ``result`` is that of :class:`iceberg_zorder.request.result.RewriteResult` as a dictionary.
        """

    @abstractmethod
    def planned(self, plan: Mapping[str, Any]) -> None:
        """Show a plan, as :meth:`iceberg_zorder.pyiceberg.RewritePlan.to_dict` describes it."""

    @abstractmethod
    def reported(self, report: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
        """Show a report, beside one of before if there is one.

        Both as :meth:`iceberg_zorder.report.clustering_report.ClusteringReport.to_dict` describes them.
        """

    @abstractmethod
    def remembered(self, table: str, properties: Mapping[str, str]) -> None:
        """Show what properties a table has got."""

    @abstractmethod
    def history(self, history: Mapping[str, Any]) -> None:
        """Show the rewrites of a table: ``table``, ``branch`` and ``rewrites``.

        These are as :meth:`iceberg_zorder.maintain.past_rewrites.Rewrite.to_dict` has them.
        """

    @abstractmethod
    def maintained(self, report: Mapping[str, Any]) -> None:
        """Show a pass of maintenance, as :meth:`iceberg_zorder.maintain.pass_report.PassReport.to_dict` has it."""

    @abstractmethod
    def workload(self, found: Mapping[str, Any]) -> None:
        """Show a workload: ``table``, ``written``, and what :func:`iceberg_zorder.workload.summary.summary` has."""

    @abstractmethod
    def advised(self, advice: Mapping[str, Any]) -> None:
        """Show advice, as :meth:`iceberg_zorder.advice.advice.Advice.to_dict` describes it."""

    def told(self, message: str) -> None:
        """Show what else was done."""
        if not self._quiet:
            self._line(message)

    def warning(self, message: str) -> None:
        """Show something the user should know though the command goes on."""
        self._warned.append(message)
        self._line(f"Warning: {message}", style="yellow")

    def failure(self, failure: Failure) -> None:
        """Show why the command failed."""
        # What Spark says may have several lines, and be indented.
        for line in f"Error: {failure.message}".split("\n"):
            self._line(line.expandtabs(), style="red")

    def interrupted(self, message: str) -> None:
        """Show what became of a command that was told to end, and had its say."""
        self._line(f"Interrupted: {message}", style="yellow")

    def cancelled(self, failure: Failure) -> None:
        """Show what became of a command that was told to end, and has no result."""
        self.interrupted(failure.message)

    @contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """Give a function that shows what is going on.

        On a terminal it is the text of a spinner with the time, elsewhere a line.
        """
        if self._quiet:
            yield lambda _: None
        elif self._stderr.is_terminal:
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            with Progress(*columns, console=self._stderr, transient=True) as progress:
                task = progress.add_task("", total=None)
                yield lambda text: progress.update(task, description=printable(text))
        else:
            yield self._line

    @contextmanager
    def work(self) -> Iterator[Callable[[str, int, int], None]]:
        """Give a function that is told of finished work: the stage, its rows, and their bytes.

        The stage ``plan`` tells how much there is of every other. On a terminal there is a bar for each stage,
        elsewhere a line for each tenth of it. The function may be called from several threads.
        """
        if self._quiet:
            yield lambda *_: None
        elif self._stderr.is_terminal:
            columns = (
                TextColumn("{task.description:>8}"),
                BarColumn(),
                TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows, {task.fields[size]}"),
                TimeElapsedColumn(),
            )
            with Progress(*columns, console=self._stderr, transient=True) as progress:
                yield _Bars(progress)
        else:
            yield _Tenths(self._line)

    def _line(self, text: str, *, style: str = "") -> None:
        # Messages hold brackets that are no markup, and a line that is wrapped cannot be searched for.
        self._stderr.print(Text(printable(text), style=style), soft_wrap=True)


class _Bars:
    """A bar for each stage of the work."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._total = 0
        self._tasks: dict[str, TaskID] = {}
        self._sizes: dict[str, int] = {}
        self._lock = Lock()

    def __call__(self, stage: str, rows: int, size: int) -> None:
        with self._lock:
            if stage == "plan":
                self._total += rows
                for task in self._tasks.values():
                    self._progress.update(task, total=self._total)
                return
            self._sizes[stage] = self._sizes.get(stage, 0) + size
            if stage not in self._tasks:
                self._tasks[stage] = self._progress.add_task(stage, total=self._total, size="")
            self._progress.update(self._tasks[stage], advance=rows, size=decimal(self._sizes[stage]))


class _Tenths:
    """A line for each tenth of each stage of the work."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._total = 0
        self._done: dict[str, tuple[int, int]] = {}
        self._lock = Lock()

    def __call__(self, stage: str, rows: int, size: int) -> None:
        with self._lock:
            if stage == "plan":
                self._total += rows
                self._say(f"Planned {rows:,} rows in {decimal(size)}")
                return
            before, bytes_before = self._done.get(stage, (0, 0))
            done, size = before + rows, bytes_before + size
            self._done[stage] = done, size
            if self._total and done * 10 // self._total > before * 10 // self._total:
                share = done / self._total
                self._say(f"{stage}: {share:.0%}, {done:,} rows, {decimal(size)}")


class ConsoleOutput(Output):
    """Text for people."""

    def rewritten(
        self, table: str, sort_order: str | None, result: Mapping[str, Any], failed: Failure | None = None
    ) -> None:
        """Show tables of the counts and of scan fractions, or why nothing was rewritten."""
        message = printable(self._unsaid(result["message"]))
        if not result["rewritten_data_files_count"] and not result["failed_data_files_count"]:
            self._stdout.print(Text(message), soft_wrap=True)
            return
        did = "Would rewrite" if result["dry_run"] else "Rewrote"
        title = printable(f"{did} {table} by {sort_order or 'what it remembers'}")
        self._stdout.print(Text(title), soft_wrap=True)
        for each in result_tables(result):
            self._stdout.print(each)
        if message:
            self._stdout.print(Text(message), soft_wrap=True)
        if failed:
            self.failure(failed)

    def _unsaid(self, message: str | None) -> str:
        """Leave out of a message what was warned of while the work went on."""
        left = message or ""
        for warning in self._warned:
            left = left.replace(warning, "")
        return " ".join(left.split())

    def planned(self, plan: Mapping[str, Any]) -> None:
        """Show the plan's text."""
        self._stdout.print(Text(plan_text(plan)), soft_wrap=True)

    def reported(self, report: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
        """Show tables and findings, at most 100 columns wide."""
        width = min(WIDTH, self._stdout.width)
        # Tables fit, and a command that is cropped cannot be pasted.
        self._stdout.print(report_renderable(report), width=width, crop=False)
        if before is not None:
            self._stdout.print(comparison_renderable(before, report), width=width)

    def remembered(self, table: str, properties: Mapping[str, str]) -> None:
        """Show the properties, a line each."""
        lines = [f"{table} remembers", *(f"  {name} = {value}" for name, value in properties.items())]
        self._stdout.print(Text("\n".join(map(printable, lines))), soft_wrap=True)

    def history(self, history: Mapping[str, Any]) -> None:
        """Show a table of the rewrites."""
        self._stdout.print(history_renderable(history))

    def maintained(self, report: Mapping[str, Any]) -> None:
        """Show the tables, what was done about each and why, and what went wrong."""
        for each in pass_renderables(report):
            self._stdout.print(each)

    def workload(self, found: Mapping[str, Any]) -> None:
        """Show how much was understood, the columns, and what was not understood."""
        for each in workload_renderables(found):
            self._stdout.print(each)

    def advised(self, advice: Mapping[str, Any]) -> None:
        """Show what is advised, the figures of layouts, warnings, and what to paste."""
        for each in advice_renderables(advice):
            self._stdout.print(each, soft_wrap=isinstance(each, Text) and bool(each.no_wrap))


class JsonOutput(Output):
    """JSON for programs: one object on stdout, with its ``version``, and the same words as for people on stderr."""

    def rewritten(
        self, table: str, sort_order: str | None, result: Mapping[str, Any], failed: Failure | None = None
    ) -> None:
        """Write ``table``, ``sort_order`` and what the result holds; and ``error`` if not all was done."""
        shares = {
            f"scan_fractions{when}": {
                each["column"]: each[key] for each in result["scan_fractions"] if each[key] is not None
            }
            for key, when in (("before", "_before"), ("predicted", ""), ("actual", "_actual"))
        }
        error = _error(failed) if failed else {}
        self._object({"table": table, "sort_order": sort_order, **result, **shares, **error})
        if failed:
            super().failure(failed)

    def planned(self, plan: Mapping[str, Any]) -> None:
        """Write the plan."""
        self._object(plan)

    def reported(self, report: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
        """Write the report, that of before as ``compared_with``."""
        self._object(report if before is None else {**report, "compared_with": before})

    def remembered(self, table: str, properties: Mapping[str, str]) -> None:
        """Write ``table`` and ``properties``."""
        self._object({"table": table, "properties": properties})

    def history(self, history: Mapping[str, Any]) -> None:
        """Write it as it is."""
        self._object(history)

    def maintained(self, report: Mapping[str, Any]) -> None:
        """Write the pass, a line each."""
        self._object(report)

    def workload(self, found: Mapping[str, Any]) -> None:
        """Write it as it is."""
        self._object(found)

    def advised(self, advice: Mapping[str, Any]) -> None:
        """Write it as it is."""
        self._object(advice)

    def failure(self, failure: Failure) -> None:
        """Write ``error``: its ``class``, ``message`` and ``exit_code``."""
        self._object(_error(failure))
        super().failure(failure)

    def cancelled(self, failure: Failure) -> None:
        """Write ``error``, of the class Interrupted."""
        self._object(_error(failure))
        super().cancelled(failure)

    def usage(self, failure: Failure) -> None:
        """Write ``error`` of wrong usage, of which the parser of arguments tells on stderr."""
        self._object(_error(failure))

    def _object(self, value: Mapping[str, object]) -> None:
        self._stdout.file.write(json.dumps({"version": VERSION, **value}) + "\n")
        self._stdout.file.flush()


def _error(failure: Failure) -> dict[str, object]:
    return {"error": {"class": failure.kind, "message": failure.message, "exit_code": failure.exit_code}}
