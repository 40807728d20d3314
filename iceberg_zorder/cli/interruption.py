"""Ctrl-C and SIGTERM: the command cancels its work, cleans up and prints one line."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A signal asked the command to end; the message, if any, describes how the work ended."""


class Signals:
    """The signals that asked a command to end."""

    def __init__(self) -> None:
        self.received: list[int] = []
        """Signal numbers in order of arrival, also if the work swallowed the exception."""
        self.is_done = False
        """Whether the work is done and only its result remains to be shown."""

    def done(self) -> None:
        """Mark the work as done: from now on only a second signal stops the command."""
        self.is_done = True

    def came(self) -> bool:
        """Return whether a signal has arrived."""
        return bool(self.received)

    def interrupt(self, number: int, _: FrameType | None) -> None:
        """Handle a signal; raises Interrupted."""
        self.received.append(number)
        if not self.is_done or len(self.received) > 1:
            raise Interrupted


@contextmanager
def interruptible() -> Iterator[Signals]:
    """Raise Interrupted in the main thread at SIGINT and SIGTERM.

    A signal that was ignored before stays ignored: shells ignore SIGINT in background commands.
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
    """Return the exit code after signals, by the shells' convention: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + received[0]
