"""Threads: available cores, workers that take turns, and generators that read ahead."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TypeVar


class StoppedError(Exception):
    """Work was stopped, because other work failed or was interrupted."""


def available_cores() -> int:
    """Return the number of cores that this process may use."""
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
    """Lets threads act in a fixed order, each once a round, until they leave.

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
        """Wait for a thread's turn; the end of the block passes the turn on."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting[0] == place)
        try:
            yield
        finally:
            with self._changed:
                self._waiting.append(self._waiting.pop(0))
                self._changed.notify_all()

    def leave(self, place: int) -> None:
        """Leave the order: the other threads no longer wait for this one."""
        with self._changed:
            self._waiting.remove(place)
            self._changed.notify_all()


_T = TypeVar("_T")


class ReadAhead(Iterator[_T]):
    """Runs a generator in its own thread, up to ``ahead`` items before its consumer, and closes it.

    Examples
    --------
    >>> with ReadAhead((i * i for i in range(4)), 1) as squares:
    ...     list(squares)
    [0, 1, 4, 9]
    """

    def __init__(self, items: Generator[_T, None, None], ahead: int) -> None:
        self._items = items
        self._queue: queue.Queue[tuple[_T | None, BaseException | None]] = queue.Queue(ahead)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="iceberg-zorder-read", daemon=True)

    def __enter__(self) -> ReadAhead[_T]:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        while self._thread.is_alive():
            with suppress(queue.Empty):
                self._queue.get_nowait()
            self._thread.join(0.05)

    def __next__(self) -> _T:
        item, error = self._queue.get()
        if error is not None:
            raise error
        return item  # type: ignore[return-value]

    def _run(self) -> None:
        try:
            for item in self._items:
                self._queue.put((item, None))
                if self._stopped.is_set():
                    return
            self._queue.put((None, StopIteration()))
        except BaseException as error:  # raised again in the consumer
            self._queue.put((None, error))
        finally:
            self._items.close()
