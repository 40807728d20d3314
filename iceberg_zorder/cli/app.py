"""The application ``iceberg-zorder``: arguments in, exit code out.

Exit codes: 0 done (also when there was nothing to do), 1 failed (or a check was not passed), 2 refused before anything
was begun (wrong usage, or what the table does not allow), 3 a conflict with another operation, 4 nobody knows whether
it was committed, 130 ended by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperCommand

from iceberg_zorder import __version__
from iceberg_zorder.cli.failure import FAILED, REFUSED, Failure
from iceberg_zorder.cli.interruption import Interrupted, Signals, exit_code, interruptible
from iceberg_zorder.cli.output import Output
from iceberg_zorder.errors import InvalidInputError

app = typer.Typer(
    name="iceberg-zorder",
    help="Re-lay the data files of Apache Iceberg tables along a z-order curve.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Table = Annotated[str, typer.Argument(help="The table with its namespace, as db.events.", show_default=False)]
By = Annotated[
    str | None,
    typer.Option(
        help="Clustering columns: user_id,ts. Nested fields are dotted, special characters stand in backticks. "
        "Or a sort order: 'region DESC, hilbert(user_id, ts)'.",
        show_default="what the table remembers",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(help="Rewrite only data files that may hold rows for which this condition of Spark SQL is true."),
]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="K=V", help="An option of the rewrite; repeat for more.")
]
Branch = Annotated[str | None, typer.Option(help="The branch to rewrite.")]
Engine = Annotated[
    Literal["auto", "spark", "pyiceberg"],
    typer.Option(help="What does the work; auto is Spark where it is installed."),
]
Catalog = Annotated[
    str | None,
    typer.Option(help="The catalog's name in PyIceberg's configuration.", show_default="PyIceberg's default"),
]
Uri = Annotated[str | None, typer.Option(help="The catalog's URI, as for PyIceberg.")]
Warehouse = Annotated[str | None, typer.Option(help="The catalog's warehouse, as for PyIceberg.")]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="K=V", help="A setting of Spark, as spark.driver.memory=4g; repeat for more."),
]
OutputKind = Annotated[
    Literal["text", "json"], typer.Option("--output", help="How the result, or the error, is written to stdout.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Predicate = Annotated[
    list[str] | None,
    typer.Option(help='A condition whose share of the data is told, as "a = 5 AND b > 3"; repeat for more.'),
]
QueryFiles = Annotated[
    list[Path],
    typer.Option("--from", help="A file of SQL, conditions, a query log, Spark's event log; repeat for more."),
]
WorkloadFiles = Annotated[
    list[Path],
    typer.Option("--workload", help="A workload, or a file of queries as for workload --from; repeat for more."),
]
QueryFileKind = Annotated[
    Literal["sql", "rows", "conditions", "event-log", "workload"] | None,
    typer.Option("--format", help="What the files are.", show_default="what each looks like"),
]
Dialect = Annotated[
    str | None, typer.Option(help="The dialect of SQL, as trino or snowflake.", show_default="what most share")
]
AsOf = Annotated[
    str | None, typer.Option(help="When queries ran, for current_date.", show_default="as a log tells, else now")
]


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
                Output("json").usage(Failure("UsageError", message(), REFUSED))
            raise


def _pairs(flag: str, texts: list[str] | None) -> dict[str, str]:
    """Read options of the form name=value."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidInputError(f"Cannot read {flag} '{text}', because it is not of the form name=value")
        if name.strip() in found:
            raise InvalidInputError(f"Cannot set {name.strip()} twice, because {flag} gives it two values")
        found[name.strip()] = value.strip()
    return found


def _exit_after(work: Callable[[Signals], int], name: str, output: Output, *, leaves_files: bool = False) -> NoReturn:
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


@app.command(cls=_Command)
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
    shown = Output(output, quiet=quiet)

    def work(signals: Signals) -> int:
        # PySpark is an extra, and it and PyIceberg take seconds to import: help and version must not wait for them.
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        if predicate and not dry_run:
            raise InvalidInputError("Cannot use --predicate, because it is for --dry-run")
        options = {**_pairs("--option", option), **({"dry-run": "true"} if dry_run else {})}
        asked = tables.asked_for(by, where, options, branch)
        found = named_table(table, "rewrite", catalog, uri, warehouse)
        chosen = tables.engine_of(engine, found, _pairs("--conf", conf))
        result = chosen.rewrite(asked, predicate or [], shown, signals.done)
        return tables.show_result(found.name, asked, result, shown)

    _exit_after(work, f"the rewrite of {table}", shown, leaves_files=True)


@app.command(cls=_Command)
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
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        if predicate and not sampled:
            raise InvalidInputError("Cannot use --predicate, because it is for --sampled")
        asked = tables.asked_for(by, where, _pairs("--option", option), branch)
        chosen = tables.engine_of(
            engine, named_table(table, "rewrite", catalog, uri, warehouse), _pairs("--conf", conf)
        )
        return tables.show_plan(chosen.plan(asked, predicate or [], shown, sampled=sampled), shown)

    _exit_after(work, f"the plan of {table}", shown)


@app.command(cls=_Command)
def execute(
    plan: Annotated[Path, typer.Argument(help="A plan in JSON, of either engine; - is stdin.", show_default=False)],
    engine: Engine = "auto",
    catalog: Annotated[
        str | None,
        typer.Option(help="The catalog's name in PyIceberg's configuration.", show_default="that of the plan's table"),
    ] = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    conf: Conf = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Rewrite what a plan says that plan --output json wrote; a plan that is stale, or of another table, is refused.

    Exit codes are those of rewrite.
    """
    shown = Output(output, quiet=quiet)

    def work(signals: Signals) -> int:
        from iceberg_zorder.cli.commands import tables

        read = tables.read_plan(plan)
        found = tables.table_of(read, catalog, uri, warehouse)
        chosen = tables.engine_of(engine, found, _pairs("--conf", conf))
        result = chosen.execute(read, shown, signals.done)
        return tables.show_result(found.name, {"columns": read.spec.sort_order}, result, shown)

    _exit_after(work, f"the rewrite by {plan}", shown, leaves_files=True)


@app.command(cls=_Command)
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
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        asked = tables.asked_for(by, where, {}, branch)
        del asked["options"]
        asked |= {"predicates": predicate or [], "workload": workload}
        chosen = tables.engine_of(
            engine, named_table(table, "report on", catalog, uri, warehouse), _pairs("--conf", conf)
        )
        return tables.report(chosen, asked, compare, html, shown)

    _exit_after(work, f"the report on {table}", shown)


@app.command(name="set", cls=_Command)
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
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        asked = tables.asked_for(by, None, _pairs("--option", option), None)
        return tables.set_defaults(named_table(table, "change", catalog, uri, warehouse), asked, shown)

    _exit_after(work, f"the change of {table}", shown)


@app.command(cls=_Command)
def history(
    table: Table,
    branch: Annotated[str | None, typer.Option(help="The branch whose snapshots to read.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="So many of the newest rewrites at most.")] = 20,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Show a table's rewrites, and what filters read of the whole table before and after, by the snapshots kept.

    Exit codes: 0 done; 1 failed; 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        found = named_table(table, "read the history of", catalog, uri, warehouse)
        return tables.history(found, branch, limit, shown)

    _exit_after(work, f"the history of {table}", shown)


@app.command(cls=_Command)
def undo(
    table: Table,
    snapshot: Annotated[
        int | None, typer.Option(metavar="ID", help="A snapshot of the rewrite.", show_default="the newest rewrite")
    ] = None,
    branch: Annotated[str | None, typer.Option(help="The branch to move back.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be undone; write nothing.")] = False,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Undo a rewrite, and rewrites after it: move the branch back to the snapshot before it; only metadata is changed.

    If others have written since, it is refused: the message tells what would be lost, and the SQL that does it anyway.
    Exit codes: 0 done; 1 failed; 2 refused; 3 another operation was in the way; 4 nobody knows whether it was undone.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        found = named_table(table, "undo a rewrite of", catalog, uri, warehouse)
        return tables.undo(found, snapshot, branch, shown, dry_run=dry_run)

    _exit_after(work, f"the undo on {table}", shown)


@app.command(cls=_Command)
def check(
    table: Table,
    max_ratio: Annotated[
        float, typer.Option(min=1, help="So many times what a rewrite would leave, filters may read on average.")
    ] = 1.5,
    by: Annotated[
        str | None,
        typer.Option(help="Clustering columns, or a sort order, as for report.", show_default="as for report"),
    ] = None,
    branch: Annotated[str | None, typer.Option(help="The branch to check.")] = None,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Check in one line whether a table is clustered well enough, for CI and alerts; only metadata is read.

    Exit codes: 0 it is; 1 it is not, or the check failed (JSON then has an error); 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        asked = tables.asked_for(by, None, {}, branch)
        del asked["options"]
        found = named_table(table, "check", catalog, uri, warehouse)
        return tables.check(tables.engine_of("pyiceberg", found, {}), asked, max_ratio, shown)

    _exit_after(work, f"the check of {table}", shown)


@app.command(cls=_Command)
def workload(
    table: Table,
    from_: QueryFiles,
    to: Annotated[Path | None, typer.Option(help="A file that the workload is written to.", show_default=False)] = None,
    dialect: Dialect = None,
    as_of: AsOf = None,
    kind: QueryFileKind = None,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Find the filters that queries have on a table, and how often, in files of any kind; tells what is not understood.

    Exit codes: 0 done; 1 failed; 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import queries
        from iceberg_zorder.cli.table import named_table

        moment = queries.moment_of(as_of)
        found = named_table(table, "read the workload of", catalog, uri, warehouse)
        return queries.workload(queries.QueryFiles(found, tuple(from_), dialect, moment, kind), to, shown)

    _exit_after(work, f"the workload of {table}", shown)


@app.command(cls=_Command)
def advise(
    table: Table,
    workload: WorkloadFiles,
    days: Annotated[
        float | None, typer.Option(help="Of how many days the queries are; then it is told what a day reads.")
    ] = None,
    least_saving: Annotated[
        float, typer.Option(help="The share of what queries read that a rewrite is to save, to be advised.")
    ] = 0.1,
    html: Annotated[Path | None, typer.Option(help="A file that a page with pictures is written to.")] = None,
    option: Options = None,
    branch: Annotated[str | None, typer.Option(help="The branch to look at.")] = None,
    dialect: Dialect = None,
    as_of: AsOf = None,
    kind: QueryFileKind = None,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Tell by what to cluster, sort or partition a table for the queries that it gets, and whether that is worth it.

    A sample of the columns that queries filter by is read; nothing is written to the table.
    Exit codes: 0 done, whatever is advised; 1 failed; 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import queries
        from iceberg_zorder.cli.table import named_table

        moment = queries.moment_of(as_of)
        found = named_table(table, "read the workload of", catalog, uri, warehouse)
        files = queries.QueryFiles(found, tuple(workload), dialect, moment, kind)
        return queries.advise(files, _pairs("--option", option), branch, days, least_saving, html, shown)

    _exit_after(work, f"the advice on {table}", shown)


@app.command(cls=_Command)
def init(
    to: Annotated[
        Path | None, typer.Option(help="A new file that the policy is written to.", show_default="stdout")
    ] = None,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Write a policy for maintain, with the tables that a catalog has, and the columns that are known of each.

    Exit codes: 0 done; 1 failed; 2 refused, as where the file is there already.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands.maintain import init as write_policy

        return write_policy(to, shown, catalog, uri, warehouse)

    _exit_after(work, "the new policy", shown)


@app.command(cls=_Command)
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
    shown = Output(output, quiet=quiet)

    def work(signals: Signals) -> int:
        from iceberg_zorder.cli.commands.maintain import run

        watched = {"log_file": log_file, "metrics_port": metrics_port, "metrics_textfile": metrics_textfile}
        settings = _pairs("--conf", conf)
        return run(policy, shown, signals, watch=watch, dry_run=dry_run, conf=settings, **watched)  # type: ignore[arg-type]

    _exit_after(work, "the maintenance", shown, leaves_files=True)
