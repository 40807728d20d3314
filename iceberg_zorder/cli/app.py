"""The application ``iceberg-zorder``: arguments in, exit code out.

Exit codes: 0 done (also when there was nothing to do), 1 failed, 2 refused before anything was begun (wrong usage, or
what the table does not allow), 3 a conflict with another operation, 4 nobody knows whether it was committed, 130 ended
by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from iceberg_zorder import __version__
from iceberg_zorder.cli.failure import FAILED, REFUSED, Failure
from iceberg_zorder.cli.interruption import Interrupted, Signals, exit_code, interruptible
from iceberg_zorder.cli.output import ConsoleOutput, JsonOutput, Output
from iceberg_zorder.errors import InvalidInputError

app = typer.Typer(
    name="iceberg-zorder",
    help="Re-lay the data files of Apache Iceberg tables along a z-order curve.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the application; the entry point of the console script."""
    app()


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"iceberg-zorder {__version__}")
        raise typer.Exit


@app.callback()
def _application(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


class _Command(TyperCommand):
    """A command whose wrong usage is JSON on stdout, too, where JSON is asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments, and raise as Click does."""
        given = " ".join(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # Typer has Click inside, or beside it, and gives no name of its own to wrong usage.
            message = getattr(error, "format_message", None)
            if message and re.search(r"(^| )--output[ =]json( |$)", given):
                JsonOutput(quiet=True).usage(Failure("UsageError", message(), REFUSED))
            raise


@app.command(cls=_Command)
def rewrite(
    table: Annotated[str, typer.Argument(help="The table with its namespace, as db.events.", show_default=False)],
    by: Annotated[
        str,
        typer.Option(
            help="Clustering columns: user_id,ts. Nested fields are dotted, special characters stand in backticks. "
            "Or a sort order: 'region DESC, hilbert(user_id, ts)'.",
            show_default=False,
        ),
    ],
    where: Annotated[
        str | None,
        typer.Option(help="Rewrite only data files that may hold rows for which this condition of Spark SQL is true."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="An option of the rewrite; repeat for more.")
    ] = None,
    branch: Annotated[str | None, typer.Option(help="The branch to rewrite.")] = None,
    engine: Annotated[
        Literal["auto", "spark", "pyiceberg"],
        typer.Option(help="What does the work; auto is Spark where it is installed."),
    ] = "auto",
    catalog: Annotated[
        str | None,
        typer.Option(help="The catalog's name in PyIceberg's configuration.", show_default="PyIceberg's default"),
    ] = None,
    uri: Annotated[str | None, typer.Option(help="The catalog's URI, as for PyIceberg.")] = None,
    warehouse: Annotated[str | None, typer.Option(help="The catalog's warehouse, as for PyIceberg.")] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="K=V", help="A setting of Spark, as spark.driver.memory=4g; repeat for more."),
    ] = None,
    output: Annotated[
        Literal["text", "json"], typer.Option(help="How the result, or the error, is written to stdout.")
    ] = "text",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Rewrite a table's data files so that filters on any of the columns skip most of them.

    The catalog comes from .pyiceberg.yaml, PYICEBERG_CATALOG__ variables, and the options here; the options win.

    Exit codes: 0 done, or nothing to do; 1 failed; 2 refused before anything was begun; 3 another operation was in the
    way; 4 nobody knows whether it was committed; 130 and 143 ended by Ctrl-C and SIGTERM.
    """
    shown = (JsonOutput if output == "json" else ConsoleOutput)(quiet=quiet)

    def checked_run(signals: Signals) -> int:
        # PySpark is an extra, and it and PyIceberg take seconds to import: help and version must not wait for them.
        from iceberg_zorder.cli.rewrite import checked_request, run

        request = checked_request(
            table,
            by=by,
            where=where,
            options=_pairs("--option", option),
            branch=branch,
            engine=engine,
            catalog=catalog,
            uri=uri,
            warehouse=warehouse,
            conf=_pairs("--conf", conf),
        )
        return run(request, shown, signals.done)

    try:
        code = _until_interrupted(table, checked_run, shown)
    except (ModuleNotFoundError, InvalidInputError) as error:
        failure = Failure.of(error)
        shown.failure(failure)
        raise typer.Exit(failure.exit_code) from error
    raise typer.Exit(code)


def _until_interrupted(table: str, work: Callable[[Signals], int], output: Output) -> int:
    """Do some work; if a signal asks it to end, say what became of it and exit as the signal asks."""
    with interruptible() as signals:
        received = signals.received
        complete = f"the rewrite of {table} was complete by then"
        code = FAILED
        try:
            code = work(signals)
        except Interrupted as interrupted:
            cancelled = f"the rewrite of {table} was cancelled"
            left = f"{cancelled}, and nobody waited for it to clean up: remove_orphan_files collects what it has left"
            message = left if len(received) > 1 else str(interrupted) or cancelled
            if signals.is_done:
                output.interrupted(complete)
            else:
                output.cancelled(Failure(Interrupted.__name__, message, exit_code(received)))
        else:
            if received:
                output.interrupted(f"the rewrite of {table} ended" if code else complete)
        if len(received) > 1:
            # Threads may still be at work.
            os._exit(exit_code(received))
    if received:
        raise typer.Exit(exit_code(received))
    return code


def _pairs(flag: str, texts: list[str] | None) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidInputError(f"Cannot read {flag} '{text}', because it is not of the form name=value")
        if name.strip() in pairs:
            raise InvalidInputError(f"Cannot set {name.strip()} twice, because {flag} gives it two values")
        pairs[name.strip()] = value.strip()
    return pairs
