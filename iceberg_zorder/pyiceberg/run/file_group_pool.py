"""Rewrite file groups, several at a time: as many as there are cores, or as the options allow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from pyiceberg.manifest import DataFile

from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.run.rewrite_group import RewriteContext
from iceberg_zorder.pyiceberg.write.file_writer import delete_files

Rewrite = Callable[[RewriteContext, FileGroup, Layout], list[DataFile]]
"""Rewrites a file group."""
_Running = dict[Future[list[DataFile]], tuple[FileGroup, int]]


def threads_of(group: FileGroup, groups: int, threads: int) -> int:
    """Tell how many threads a file group is to have: one for each new file, and its part of all."""
    return min(threads, max(group.expected_output_files, threads // groups, 1))


class FileGroupPool:
    """Rewrites file groups, so many at a time at most, each in a thread of its own with some threads more.

    The threads of the context are those of all that run at a time. ``goes_on`` is asked before each is begun.
    """

    def __init__(
        self, context: RewriteContext, rewrite: Rewrite, most: int, goes_on: Callable[[], bool] = lambda: True
    ) -> None:
        self._context = context
        self._rewrite = rewrite
        self._most = most
        self._goes_on = goes_on

    def outcomes(
        self, fitted: Sequence[tuple[FileGroup, Layout]]
    ) -> Generator[tuple[FileGroup, list[DataFile] | Exception], None, None]:
        """Rewrite all, which ends when the generator is closed."""
        waiting, running = deque(fitted), _Running()
        with ThreadPoolExecutor(min(self._most, max(1, len(fitted))), "iceberg-zorder-group") as pool:
            try:
                while True:
                    self._start(pool, waiting, running, len(fitted))
                    if not running:
                        break
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in sorted(finished, key=lambda each: running[each][0].index):
                        group, _ = running.pop(future)
                        try:
                            outcome: list[DataFile] | Exception = future.result()
                        except Exception as error:
                            outcome = error
                        yield group, outcome
            finally:
                self._context.stopped.set()
                for files in (files for future in running if (files := _files_of(future))):
                    delete_files(self._context.table, [file.file_path for file in files])

    def _start(
        self, pool: ThreadPoolExecutor, waiting: deque[tuple[FileGroup, Layout]], running: _Running, groups: int
    ) -> None:
        """Start file groups while there are threads for the next one."""
        threads = self._context.threads
        while waiting and len(running) < self._most:
            group, layout = waiting[0]
            share = threads_of(group, groups, threads)
            if sum(each for _, each in running.values()) + share > threads or not self._goes_on():
                return
            waiting.popleft()
            future = pool.submit(self._rewrite, replace(self._context, threads=share), group, layout)
            running[future] = group, share


def _files_of(future: Future[list[DataFile]]) -> list[DataFile]:
    """Wait for a file group, and take its files if it has not failed."""
    return [] if future.exception() else future.result()
