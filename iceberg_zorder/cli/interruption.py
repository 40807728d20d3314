"""Ctrl-C and SIGTERM: the command cancels its work, cleans up, and says so in one line."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """Somebody asked the command to end; like every KeyboardInterrupt, it is no Exception.

    Its message, if any, tells what became of the work.
    """


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Raise Interrupted in the main thread at every SIGINT and SIGTERM, but for one that was ignored before.

    A shell has its background commands ignore SIGINT: Ctrl-C is for another one then.

    Yields
    ------
    list of int
        The numbers of the signals that came so far: whatever the work makes of the exception, they tell that it was
        asked to end, and how often.

    Examples
    --------
    >>> with interruptible() as received:
    ...     try:
    ...         signal.raise_signal(signal.SIGTERM)
    ...     except Interrupted:
    ...         print([signal.Signals(number).name for number in received])
    ['SIGTERM']
    """
    received: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        received.append(number)
        raise Interrupted

    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heeded}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code(received: list[int]) -> int:
    """Tell the exit code of a command that signals have ended, as shells do: 130 after Ctrl-C, 143 after SIGTERM.

    Examples
    --------
    >>> exit_code([signal.SIGINT, signal.SIGTERM])
    130
    """
    return 128 + received[0]
