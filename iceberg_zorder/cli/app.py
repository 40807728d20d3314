"""The application ``iceberg-zorder``: arguments in, exit code out.

Exit codes: 0 done (also when there was nothing to do), 1 failed, 2 refused before anything was begun (wrong usage, or
what the table does not allow), 3 a conflict with another operation, 4 nobody knows whether it was committed, 130 ended
by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from iceberg_zorder import __version__
from iceberg_zorder.cli.endings import exit_after
from iceberg_zorder.cli.interruption import Signals
from iceberg_zorder.cli.parameters import (
    Branch,
    By,
    Catalog,
    Conf,
    Engine,
    Options,
    OutputKind,
    Predicate,
    Quiet,
    Table,
    Uri,
    Warehouse,
    Where,
)
from iceberg_zorder.cli.usage import Command, output_of, pairs
from iceberg_zorder.cli.workload_commands import advise, workload
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


@app.command(cls=Command)
def rewrite(
    table: Table,
    by: By = None,
    where: Where = None,
    option: Options = None,
    branch: Branch = None,
    engine: Engine = "auto",
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    conf: Conf = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be done, and how much filters would read; write nothing.")
    ] = False,
    predicate: Predicate = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Rewrite a table's data files so that filters on any of the columns skip most of them.

    The catalog comes from .pyiceberg.yaml, PYICEBERG_CATALOG__ variables, and the options here; the options win.

    Exit codes: 0 done, or nothing to do; 1 failed; 2 refused before anything was begun; 3 another operation was in the
    way; 4 nobody knows whether it was committed; 130 and 143 ended by Ctrl-C and SIGTERM.
    """
    shown = output_of(output, quiet=quiet)

    def work(signals: Signals) -> int:
        # PySpark is an extra, and it and PyIceberg take seconds to import: help and version must not wait for them.
        from iceberg_zorder.cli.arguments import checked_request
        from iceberg_zorder.cli.commands.rewrite import run

        if predicate and not dry_run:
            raise InvalidInputError("Cannot use --predicate, because it is for --dry-run")
        request = checked_request(
            table,
            by=by,
            where=where,
            options={**pairs("--option", option), **({"dry-run": "true"} if dry_run else {})},
            branch=branch,
            engine=engine,
            catalog=catalog,
            uri=uri,
            warehouse=warehouse,
            conf=pairs("--conf", conf),
            predicates=predicate or [],
        )
        return run(request, shown, signals.done)

    exit_after(work, f"the rewrite of {table}", shown, leaves_files=True)


@app.command(cls=Command)
def plan(
    table: Table,
    by: By = None,
    where: Where = None,
    option: Options = None,
    branch: Branch = None,
    engine: Engine = "auto",
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    conf: Conf = None,
    sampled: Annotated[
        bool, typer.Option("--sampled", help="Read a sample of the columns: layouts, and how much filters will read.")
    ] = False,
    predicate: Predicate = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Show what rewrite would do with the same arguments, and why; nothing is written.

    Only manifests are read, unless a sample is asked for. Exit codes are those of rewrite.
    """
    shown = output_of(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.arguments import checked_request
        from iceberg_zorder.cli.commands.plan import run

        if predicate and not sampled:
            raise InvalidInputError("Cannot use --predicate, because it is for --sampled")
        request = checked_request(
            table,
            by=by,
            where=where,
            options=pairs("--option", option),
            branch=branch,
            engine=engine,
            catalog=catalog,
            uri=uri,
            warehouse=warehouse,
            conf=pairs("--conf", conf),
            predicates=predicate or [],
        )
        return run(request, shown, sampled=sampled)

    exit_after(work, f"the plan of {table}", shown, leaves_files=False)


@app.command(cls=Command)
def report(
    table: Table,
    by: Annotated[
        str | None,
        typer.Option(
            help="Clustering columns, or a sort order, as for rewrite.",
            show_default="what the table remembers, else the last rewrite's",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(help="Report only on data files that may hold rows for which this condition is true."),
    ] = None,
    predicate: Predicate = None,
    predicates: Annotated[
        Path | None, typer.Option(help="A file of such conditions, one a line; lines that begin with # are left out.")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help="Queries whose average reads are told: a workload, as JSON or where it lies.",
            show_default="what zorder.workload names",
        ),
    ] = None,
    branch: Annotated[str | None, typer.Option(help="The branch to report on.")] = None,
    compare: Annotated[
        int | None, typer.Option(metavar="SNAPSHOT", help="A snapshot of before, to be compared with.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="A file that a page with pictures is written to.")] = None,
    engine: Annotated[Literal["spark", "pyiceberg"], typer.Option(help="What reads the metadata.")] = "pyiceberg",
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    conf: Conf = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Show how well a table is clustered, what a rewrite would attain, and what is wrong; only metadata is read.

    Exit codes: 0 done, whatever was found; 1 failed; 2 refused.
    """
    shown = output_of(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.arguments import checked_report_request, predicates_of
        from iceberg_zorder.cli.commands.report import run

        request = checked_report_request(
            table,
            by=by,
            where=where,
            branch=branch,
            predicates=predicates_of(predicate or [], predicates),
            compared=compare,
            page=html,
            workload=workload,
            engine=engine,
            catalog=catalog,
            uri=uri,
            warehouse=warehouse,
            conf=pairs("--conf", conf),
        )
        return run(request, shown)

    exit_after(work, f"the report on {table}", shown, leaves_files=False)


@app.command(name="set", cls=Command)
def set_defaults(
    table: Table,
    by: Annotated[str, typer.Option(help="Clustering columns, or a sort order, as for rewrite.", show_default=False)],
    option: Options = None,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Have a table remember columns and options for rewrites that do not say.

    They are its properties zorder.columns and zorder.options, which both engines look at, and ALTER TABLE sets as well.
    Exit codes: 0 done; 1 failed; 2 refused.
    """
    shown = output_of(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.arguments import checked_defaults
        from iceberg_zorder.cli.commands.table_defaults import run

        request = checked_defaults(
            table, by=by, options=pairs("--option", option), catalog=catalog, uri=uri, warehouse=warehouse
        )
        return run(request, shown)

    exit_after(work, f"the change of {table}", shown, leaves_files=False)


@app.command(cls=Command)
def history(
    table: Table,
    branch: Annotated[str | None, typer.Option(help="The branch whose snapshots to read.")] = None,
    limit: Annotated[int, typer.Option(help="So many of the newest rewrites at most.")] = 20,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Show a table's rewrites, as the snapshots that are kept tell: when, why, and what filters read for it.

    Exit codes: 0 done; 1 failed; 2 refused.
    """
    shown = output_of(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.arguments import checked_history
        from iceberg_zorder.cli.commands.history import run

        return run(checked_history(table, branch, limit, catalog=catalog, uri=uri, warehouse=warehouse), shown)

    exit_after(work, f"the history of {table}", shown, leaves_files=False)


app.command(cls=Command)(workload)
app.command(cls=Command)(advise)


@app.command(cls=Command)
def maintain(
    policy: Annotated[Path, typer.Argument(help="The policy, a YAML file.", show_default=False)],
    watch: Annotated[bool, typer.Option("--watch", help="Go on with a pass each interval of the policy.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Decide, and tell the reasons; write nothing.")] = False,
    log_file: Annotated[
        Path | None, typer.Option(help="Add a line of JSON for all that happens to this file.", show_default=False)
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="With --watch: serve /metrics and /health on 127.0.0.1.", show_default=False)
    ] = None,
    metrics_textfile: Annotated[
        Path | None, typer.Option(help="Write metrics to this file after each pass.", show_default=False)
    ] = None,
    conf: Conf = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Keep the tables of a policy clustered: one pass, or with --watch one after the other.

    The metadata of each table is read, and the budget goes to what saves filters most for its bytes.
    Exit codes: 0 done, also where writers have won; 1 a table or a catalog failed, or a rule names no table that there
    is, and the others are done; 2 the policy was refused; 130 and 143 ended by Ctrl-C and SIGTERM.
    """
    shown = output_of(output, quiet=quiet)

    def work(signals: Signals) -> int:
        from iceberg_zorder.cli.commands.maintain import Watching, run

        watching = Watching(log_file, metrics_port, metrics_textfile)
        settings = pairs("--conf", conf)
        return run(policy, shown, signals, watch=watch, dry_run=dry_run, conf=settings, watching=watching)

    exit_after(work, "the maintenance", shown, leaves_files=True)
