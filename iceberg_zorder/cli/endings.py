"""How commands end: with an exit code, whatever refuses or interrupts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NoReturn

import typer

from iceberg_zorder.cli.failure import FAILED, Failure
from iceberg_zorder.cli.interruption import Interrupted, Signals, exit_code, interruptible
from iceberg_zorder.cli.output import Output
from iceberg_zorder.errors import InvalidInputError


def exit_after(work: Callable[[Signals], int], name: str, output: Output, *, leaves_files: bool) -> NoReturn:
    """Do the work of a command, and exit with its code, or with that of what refused it."""
    try:
        code = _until_interrupted(work, name, output, leaves_files=leaves_files)
    except (ModuleNotFoundError, InvalidInputError) as error:
        failure = Failure.of(error)
        output.failure(failure)
        raise typer.Exit(failure.exit_code) from error
    raise typer.Exit(code)


def _until_interrupted(work: Callable[[Signals], int], name: str, output: Output, *, leaves_files: bool) -> int:
    """Do some work; if a signal asks it to end, say what became of it and exit as the signal asks."""
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
        else:
            if received:
                output.interrupted(f"{name} ended" if code else complete)
        if len(received) > 1:
            # Threads may still be at work.
            os._exit(exit_code(received))
    if received:
        raise typer.Exit(exit_code(received))
    return code
