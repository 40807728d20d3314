"""The output of the command line: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any, Literal

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.maintain.policy.catalogs import masked, secrets_of
from iceberg_zorder.printable import printable

VERSION = 1
"""Version of all JSON output. Keys may be added without a new version; none is removed."""


class Output:
    """Writes a command's result and messages, as ``text`` or as ``json``.

    JSON is one object on stdout with a ``version``; messages still go to stderr as text. ``quiet`` hides progress.
    """

    def __init__(
        self,
        kind: Literal["text", "json"],
        *,
        quiet: bool = False,
        stdout: Console | None = None,
        stderr: Console | None = None,
    ) -> None:
        self._is_json, self._quiet = kind == "json", quiet
        self._warned: list[str] = []
        self._secrets: frozenset[str] = frozenset()
        self._stdout = stdout or Console()
        self._stderr = stderr or Console(stderr=True)

    def hide(self, properties: Mapping[str, object]) -> None:
        """Mask a catalog's secrets in messages: a catalog may say what it was sent."""
        self._secrets |= secrets_of(properties)

    def show(self, value: Mapping[str, Any], render: Callable[[Console], None]) -> None:
        """Write a result: ``value`` as JSON, or the text that ``render`` prints."""
        if self._is_json:
            self._object(value)
        else:
            render(self._stdout)

    def unsaid(self, message: str | None) -> str:
        """Return a message without the warnings that were already shown."""
        left = message or ""
        for warning in self._warned:
            left = left.replace(warning, "")
        return " ".join(left.split())

    def note(self, message: str) -> None:
        """Show a remark, unless quiet."""
        if not self._quiet:
            self._line(message)

    def warning(self, message: str) -> None:
        """Show a warning; the command continues."""
        self._warned.append(message)
        self._line(f"Warning: {message}", style="yellow")

    def failure(self, failure: Failure) -> None:
        """Show why the command failed; JSON has it as ``error``."""
        self.usage(failure)
        self.incomplete(failure)

    def incomplete(self, failure: Failure) -> None:
        """Show on stderr why part of the work failed; the JSON result holds it already."""
        # Spark's messages may have several indented lines.
        for line in f"Error: {failure.message}".split("\n"):
            self._line(line.expandtabs(), style="red")

    def interrupted(self, message: str) -> None:
        """Show how an interrupted command ended."""
        self._line(f"Interrupted: {message}", style="yellow")

    def cancelled(self, failure: Failure) -> None:
        """Show how an interrupted command without a result ended."""
        self.usage(failure)
        self.interrupted(failure.message)

    def usage(self, failure: Failure) -> None:
        """Write ``error`` as JSON only, because the argument parser itself reports wrong usage on stderr."""
        if self._is_json:
            self._object(replace(failure, message=masked(failure.message, self._secrets)).to_dict())

    @contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """Yield a function that shows the current step: beside a spinner on a terminal, else as a line."""
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
        """Yield a function that takes finished work: stage, rows, bytes.

        The stage ``plan`` sets the total of every other stage. A terminal shows a bar for each stage, other outputs a
        line for each tenth. The function is thread-safe.
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
        # Brackets in messages are not markup, and wrapped lines could not be searched for.
        self._stderr.print(Text(printable(masked(text, self._secrets)), style=style), soft_wrap=True)

    def _object(self, value: Mapping[str, object]) -> None:
        self._stdout.file.write(json.dumps({"version": VERSION, **value}) + "\n")
        self._stdout.file.flush()


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
