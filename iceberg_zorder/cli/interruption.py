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


class Signals:
    """The signals that ask a command to end, as they come."""

    def __init__(self) -> None:
        self.received: list[int] = []
        """The numbers of those that came: whatever the work makes of the exception, it was asked to end so often."""
        self.is_done = False
        """Whether the work was done, and only its result is left to tell."""

    def done(self) -> None:
        """Take note that the work is done: a first signal stops nothing any more, only a second one does."""
        self.is_done = True

    def came(self) -> bool:
        """Tell whether any has come."""
        return bool(self.received)

    def interrupt(self, number: int, _: FrameType | None) -> None:
        """Handle a signal; raises Interrupted."""
        self.received.append(number)
        if not self.is_done or len(self.received) > 1:
            raise Interrupted


@contextmanager
def interruptible() -> Iterator[Signals]:
    """Raise Interrupted in the main thread at SIGINT and SIGTERM, but for one that was ignored before.

    A shell has its background commands ignore SIGINT: Ctrl-C is for another one then.
    """
    signals = Signals()

    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, signals.interrupt) for number in heeded}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code(received: list[int]) -> int:
    """Tell the exit code of a command that signals have ended, as shells do: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + received[0]
