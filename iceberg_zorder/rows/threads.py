"""Threads that do a piece of work together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager


class StoppedError(Exception):
    """Work was ended, because other work has failed or an interrupt came."""


def available_cores() -> int:
    """Tell how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_together(count: int, run: Callable[[int], None], stop: Callable[[], None]) -> None:
    """Run a function in several threads, and wait until it has returned in all of them; stop them if one fails."""
    if count == 1:
        run(0)
        return
    with ThreadPoolExecutor(count, "iceberg-zorder") as pool:
        futures = [pool.submit(run, place) for place in range(count)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            if not all(future.done() and future.exception() is None for future in futures):
                stop()
    errors = [error for future in futures if (error := future.exception())]
    for error in sorted(errors, key=lambda error: isinstance(error, StoppedError)):
        raise error


class Turns:
    """Lets so many threads act one after the other, each once a round, until it leaves: in the same order every time.

    Examples
    --------
    >>> turns = Turns(2)
    >>> with turns.turn(0):
    ...     turns.leave(1)
    >>> with turns.turn(0):
    ...     print("again")
    again
    """

    def __init__(self, count: int) -> None:
        self._waiting = list(range(count))
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, place: int) -> Iterator[None]:
        """Wait for a thread's turn; when the block ends, it is the next one's."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting[0] == place)
        try:
            yield
        finally:
            with self._changed:
                self._waiting.append(self._waiting.pop(0))
                self._changed.notify_all()

    def leave(self, place: int) -> None:
        """Take no more turns."""
        with self._changed:
            self._waiting.remove(place)
            self._changed.notify_all()
