"""How commands end: with an exit code, whatever refuses or interrupts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NoReturn

import typer

from iceberg_zorder.cli.failure import FAILED, Failure
from iceberg_zorder.cli.interruption import Interrupted, Signals, exit_code, interruptible
from iceberg_zorder.cli.output import Output


def exit_after(work: Callable[[Signals], int], name: str, output: Output, *, leaves_files: bool = False) -> NoReturn:
    """Do the work of a command, and exit with its code, or as what went wrong or a signal asks."""
    with interruptible() as signals:
        received = signals.received
        complete = f"{name} was complete by then"
        code = FAILED
        try:
            code = work(signals)
        except Interrupted as interrupted:
            message = str(interrupted) or f"{name} was cancelled"
            if leaves_files and len(received) > 1:
                message = (
                    f"{name} was cancelled, and nobody waited for it to clean up: remove_orphan_files collects what "
                    "it has left"
                )
            if signals.is_done:
                output.interrupted(complete)
            else:
                output.cancelled(Failure(Interrupted.__name__, message, exit_code(received)))
        except Exception as error:  # whatever it is, it ends in a message and an exit code
            failure = Failure.of(error)
            output.failure(failure)
            code = failure.exit_code
            if received:
                output.interrupted(f"{name} ended")
        else:
            if received:
                output.interrupted(f"{name} ended" if code else complete)
        if len(received) > 1:
            # Threads may still be at work.
            os._exit(exit_code(received))
    raise typer.Exit(exit_code(received) if received else code)
