"""The application ``iceberg-zorder``: arguments in, exit code out.

Exit codes: 0 done (also when there was nothing to do), 1 failed, 2 wrong usage, 130 ended by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Literal

import typer

from iceberg_zorder import __version__
from iceberg_zorder.cli.interruption import Interrupted, exit_code, interruptible
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


@app.command()
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
        typer.Option(help="Rewrite only data files that may hold rows for which this SQL condition is true."),
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
    output: Annotated[Literal["text", "json"], typer.Option(help="How the result is written.")] = "text",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Rewrite a table's data files so that filters on any of the columns skip most of them.

    The catalog comes from .pyiceberg.yaml, PYICEBERG_CATALOG__ variables, and the options here; the options win.
    """
    shown = (JsonOutput if output == "json" else ConsoleOutput)(quiet=quiet)

    def checked_run() -> bool:
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
        return run(request, shown)

    try:
        done = _until_interrupted(table, checked_run, shown)
    except ModuleNotFoundError as error:
        shown.failure(str(error))
        raise typer.Exit(1) from error
    except InvalidInputError as error:
        shown.failure(str(error))
        raise typer.Exit(2) from error
    if not done:
        raise typer.Exit(1)


def _until_interrupted(table: str, work: Callable[[], bool], output: Output) -> bool:
    """Do some work; if a signal asks it to end, say what became of it and exit as the signal asks."""
    with interruptible() as received:
        done = False
        try:
            done = work()
        except Interrupted as interrupted:
            cancelled = f"the rewrite of {table} was cancelled"
            left = f"{cancelled}, and nobody waited for it to clean up: remove_orphan_files collects what it has left"
            output.interrupted(left if len(received) > 1 else str(interrupted) or cancelled)
        else:
            if received:
                output.interrupted(f"the rewrite of {table} {'was complete by then' if done else 'ended'}")
        if len(received) > 1:
            # Threads may still be at work.
            os._exit(exit_code(received))
    if received:
        raise typer.Exit(exit_code(received))
    return done


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
