"""Run a generator in a second thread, ahead of who takes its items."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

_T = TypeVar("_T")


class ReadAhead(Iterator[_T]):
    """Runs a generator, which it closes, in a thread of its own, so many items ahead of who takes them.

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
            self._emptied()
            self._thread.join(0.05)

    def __next__(self) -> _T:
        item, error = self._queue.get()
        if error is not None:
            raise error
        return item  # type: ignore[return-value]

    def _emptied(self) -> None:
        try:
            self._queue.get_nowait()
        except queue.Empty:
            return

    def _run(self) -> None:
        try:
            for item in self._items:
                self._queue.put((item, None))
                if self._stopped.is_set():
                    return
            self._queue.put((None, StopIteration()))
        except BaseException as error:  # the taker is to see whatever it is
            self._queue.put((None, error))
        finally:
            self._items.close()
