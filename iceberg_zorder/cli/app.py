"""The application ``iceberg-zorder``: parses arguments, runs a command, exits with its code.

Exit codes: 0 done or nothing to do; 1 failed, or a check did not pass; 2 refused before the work began (wrong usage,
or the table does not allow it); 3 conflict with another operation; 4 unknown whether the commit succeeded; 130
interrupted by Ctrl-C; 143 by SIGTERM.
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
    help="Cluster the data files of Apache Iceberg tables by several columns, so that queries skip files.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Table = Annotated[str, typer.Argument(help="Table with its namespace, such as db.events.", show_default=False)]
By = Annotated[
    str | None,
    typer.Option(
        help="Clustering columns (user_id,ts) or a sort order ('region DESC, hilbert(user_id, ts)'). "
        "Use dots for nested fields, backticks around special characters.",
        show_default="the table's property zorder.columns",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(help="Spark SQL condition: rewrite only data files that may hold matching rows."),
]
Options = Annotated[list[str] | None, typer.Option("--option", metavar="K=V", help="Rewrite option; may be repeated.")]
Branch = Annotated[str | None, typer.Option(help="Branch to rewrite.")]
Engine = Annotated[
    Literal["auto", "spark", "pyiceberg"],
    typer.Option(help="Engine that runs the rewrite; auto uses Spark if PySpark is installed, else PyIceberg."),
]
Catalog = Annotated[
    str | None,
    typer.Option(help="Catalog name in PyIceberg's configuration.", show_default="PyIceberg's default"),
]
Uri = Annotated[str | None, typer.Option(help="Catalog URI, as in PyIceberg.")]
Warehouse = Annotated[str | None, typer.Option(help="Catalog warehouse, as in PyIceberg.")]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="K=V", help="Spark setting, such as spark.driver.memory=4g; may be repeated."),
]
OutputKind = Annotated[
    Literal["text", "json"], typer.Option("--output", help="Format of the result, or of the error, on stdout.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress.")]
Predicate = Annotated[
    list[str] | None,
    typer.Option(
        help='Show the share of the data that this condition reads, such as "a = 5 AND b > 3"; may be repeated.'
    ),
]
QueryFiles = Annotated[
    list[Path],
    typer.Option("--from", help="SQL file, file of conditions, query log or Spark event log; may be repeated."),
]
WorkloadFiles = Annotated[
    list[Path],
    typer.Option("--workload", help="Workload, or file of queries as in workload --from; may be repeated."),
]
QueryFileKind = Annotated[
    Literal["sql", "rows", "conditions", "event-log", "workload"] | None,
    typer.Option("--format", help="Format of the files.", show_default="detected per file"),
]
Dialect = Annotated[
    str | None, typer.Option(help="SQL dialect, such as trino or snowflake.", show_default="generic SQL")
]
AsOf = Annotated[
    str | None,
    typer.Option(help="Time that the queries get from current_date.", show_default="the log's time, else now"),
]

Readers = Annotated[
    str,
    typer.Option(
        help="Engines that read the table, by commas: spark, trino and duckdb skip files by joins; other does not."
    ),
]


class _Command(TyperCommand):
    """A command that also reports wrong usage as JSON on stdout when ``--output json`` is given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; raises what Click raises."""
        given = " ".join(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # Typer vendors Click or depends on it, and exports no class for usage errors.
            message = getattr(error, "format_message", None)
            if message and re.search(r"(^| )--output[ =]json( |$)", given):
                Output("json").usage(Failure("UsageError", message(), REFUSED))
            raise


def _pairs(flag: str, texts: list[str] | None) -> dict[str, str]:
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
    """Run a command; exit with its code, or with the code of its failure or signal."""
    with interruptible() as signals:
        received = signals.received
        complete = f"{name} had already completed"
        code = FAILED
        try:
            code = work(signals)
        except Interrupted as interrupted:
            message = str(interrupted) or f"{name} was cancelled"
            if leaves_files and len(received) > 1:
                message = (
                    f"{name} was cancelled before it cleaned up: run remove_orphan_files to delete the files it left"
                )
            if signals.is_done:
                output.interrupted(complete)
            else:
                output.cancelled(Failure(Interrupted.__name__, message, exit_code(received)))
        except Exception as error:  # every failure ends in a message and an exit code
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
        bool, typer.Option("--dry-run", help="Show the rewrite and how much filters would read; write nothing.")
    ] = False,
    predicate: Predicate = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Rewrite a table's data files so that filters on any of the columns skip most files.

    The catalog comes from the options here, else from PYICEBERG_CATALOG__ variables, else from .pyiceberg.yaml.

    Exit codes: 0 done, or nothing to do; 1 failed; 2 refused before the work began;
    3 conflict with another operation; 4 unknown whether the commit succeeded; 130 Ctrl-C; 143 SIGTERM.
    """
    shown = Output(output, quiet=quiet)

    def work(signals: Signals) -> int:
        # PySpark is an extra. It and PyIceberg take seconds to import, and --help and --version need neither.
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        if predicate and not dry_run:
            raise InvalidInputError("Cannot use --predicate, because it needs --dry-run")
        options = {**_pairs("--option", option), **({"dry-run": "true"} if dry_run else {})}
        asked = tables.asked_for(by, where, options, branch)
        found = named_table(table, "rewrite", catalog, uri, warehouse, shown)
        chosen = tables.engine_of(engine, found, _pairs("--conf", conf))
        result = chosen.rewrite(asked, predicate or [], shown, signals.done)
        return tables.show_result(found.name, asked, result, shown, chosen.name)

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
        bool, typer.Option("--sampled", help="Sample the columns, to plan layouts and predict how much filters read.")
    ] = False,
    predicate: Predicate = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Show what rewrite would do with the same arguments, and why; write nothing.

    Reads only manifests, unless --sampled is given. Exit codes are those of rewrite.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        if predicate and not sampled:
            raise InvalidInputError("Cannot use --predicate, because it needs --sampled")
        asked = tables.asked_for(by, where, _pairs("--option", option), branch)
        chosen = tables.engine_of(
            engine, named_table(table, "rewrite", catalog, uri, warehouse, shown), _pairs("--conf", conf)
        )
        return tables.show_plan(chosen.plan(asked, predicate or [], shown, sampled=sampled), shown)

    _exit_after(work, f"the plan of {table}", shown)


@app.command(cls=_Command)
def execute(
    plan: Annotated[Path, typer.Argument(help="Plan in JSON, made by either engine; - is stdin.", show_default=False)],
    engine: Engine = "auto",
    catalog: Annotated[
        str | None,
        typer.Option(help="Catalog name in PyIceberg's configuration.", show_default="the catalog in the plan"),
    ] = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    conf: Conf = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Execute a plan in JSON that the command plan wrote.

    Refuses a plan if its files, the schema or the partition spec have changed since, or if it is for another table.
    Exit codes are those of rewrite.
    """
    shown = Output(output, quiet=quiet)

    def work(signals: Signals) -> int:
        from iceberg_zorder.cli.commands import tables

        read = tables.read_plan(plan)
        found = tables.table_of(read, catalog, uri, warehouse, shown)
        chosen = tables.engine_of(engine, found, _pairs("--conf", conf))
        result = chosen.execute(read, shown, signals.done)
        return tables.show_result(found.name, {"columns": read.spec.sort_order}, result, shown, chosen.name)

    _exit_after(work, f"the rewrite by {plan}", shown, leaves_files=True)


@app.command(cls=_Command)
def report(
    table: Table,
    by: Annotated[
        str | None,
        typer.Option(
            help="Clustering columns or a sort order, as in rewrite.",
            show_default="the table's property zorder.columns, else the last rewrite's",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(help="Spark SQL condition: report only on data files that may hold matching rows."),
    ] = None,
    predicate: Predicate = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help="Workload, as JSON or as the path of a file; the report shows what its queries read.",
            show_default="the table's property zorder.workload",
        ),
    ] = None,
    branch: Annotated[str | None, typer.Option(help="Branch to report on.")] = None,
    compare: Annotated[int | None, typer.Option(metavar="SNAPSHOT", help="Earlier snapshot to compare with.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML page with charts to this file.")] = None,
    engine: Annotated[
        Literal["spark", "pyiceberg"], typer.Option(help="Engine that reads the metadata.")
    ] = "pyiceberg",
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    conf: Conf = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Show how well a table is clustered, which problems it has, and what a rewrite would attain.

    Reads only metadata. Exit codes: 0 done, with or without findings; 1 failed; 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        asked = tables.asked_for(by, where, {}, branch)
        del asked["options"]
        asked |= {"predicates": predicate or [], "workload": workload}
        chosen = tables.engine_of(
            engine, named_table(table, "report on", catalog, uri, warehouse, shown), _pairs("--conf", conf)
        )
        return tables.report(chosen, asked, compare, html, shown)

    _exit_after(work, f"the report on {table}", shown)


@app.command(name="set", cls=_Command)
def set_defaults(
    table: Table,
    by: Annotated[str, typer.Option(help="Clustering columns or a sort order, as in rewrite.", show_default=False)],
    option: Options = None,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Store a table's default columns and options for rewrites.

    They become the table properties zorder.columns and zorder.options, which both engines read.
    ALTER TABLE can set them, too. Exit codes: 0 done; 1 failed; 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        asked = tables.asked_for(by, None, _pairs("--option", option), None)
        return tables.set_defaults(named_table(table, "change", catalog, uri, warehouse, shown), asked, shown)

    _exit_after(work, f"the change of {table}", shown)


@app.command(cls=_Command)
def history(
    table: Table,
    branch: Annotated[str | None, typer.Option(help="Branch whose snapshots to read.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rewrites, newest first.")] = 20,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Show a table's rewrites, with the share of the table that filters read before and after each.

    Reads only metadata. Rewrites whose snapshots have expired are missing. Exit codes: 0 done; 1 failed; 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        found = named_table(table, "read the history of", catalog, uri, warehouse, shown)
        return tables.history(found, branch, limit, shown)

    _exit_after(work, f"the history of {table}", shown)


@app.command(cls=_Command)
def undo(
    table: Table,
    snapshot: Annotated[
        int | None, typer.Option(metavar="ID", help="Snapshot of the rewrite.", show_default="the newest rewrite")
    ] = None,
    branch: Annotated[str | None, typer.Option(help="Branch to move back.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be undone; write nothing.")] = False,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Undo a rewrite and all rewrites after it, by moving the branch back to the snapshot before it.

    Changes only metadata. Refuses if other operations have written since.
    The message then lists the changes that would be lost, and has the SQL to undo anyway.
    Exit codes: 0 done; 1 failed; 2 refused; 3 conflict with another operation; 4 unknown whether the undo succeeded.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        found = named_table(table, "undo a rewrite of", catalog, uri, warehouse, shown)
        return tables.undo(found, snapshot, branch, shown, dry_run=dry_run)

    _exit_after(work, f"the undo on {table}", shown)


@app.command(cls=_Command)
def check(
    table: Table,
    max_ratio: Annotated[
        float,
        typer.Option(
            min=1, help="Highest accepted scan ratio: the cost of filters now, divided by their cost after a rewrite."
        ),
    ] = 1.5,
    by: Annotated[
        str | None,
        typer.Option(help="Clustering columns or a sort order, as in report.", show_default="as in report"),
    ] = None,
    branch: Annotated[str | None, typer.Option(help="Branch to check.")] = None,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Check whether a table is clustered well enough, for CI and alerts.

    Prints one line, and reads only metadata.
    Exit codes: 0 well enough; 1 not well enough, or the check failed (JSON has an error if it failed); 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import tables
        from iceberg_zorder.cli.table import named_table

        asked = tables.asked_for(by, None, {}, branch)
        del asked["options"]
        found = named_table(table, "check", catalog, uri, warehouse, shown)
        return tables.check(tables.engine_of("pyiceberg", found, {}), asked, max_ratio, shown)

    _exit_after(work, f"the check of {table}", shown)


@app.command(cls=_Command)
def workload(
    table: Table,
    from_: QueryFiles,
    to: Annotated[Path | None, typer.Option(help="Write the workload to this file.", show_default=False)] = None,
    dialect: Dialect = None,
    as_of: AsOf = None,
    kind: QueryFileKind = None,
    readers: Readers = "spark",
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Extract the filters on a table, and their frequency, from SQL files and query logs.

    Lists the statements and conditions that it does not understand. Exit codes: 0 done; 1 failed; 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import queries
        from iceberg_zorder.cli.table import named_table

        moment, engines = queries.moment_of(as_of), queries.readers_of(readers)
        found = named_table(table, "read the workload of", catalog, uri, warehouse, shown)
        return queries.workload(queries.QueryFiles(found, tuple(from_), dialect, moment, kind, engines), to, shown)

    _exit_after(work, f"the workload of {table}", shown)


@app.command(cls=_Command)
def advise(
    table: Table,
    workload: WorkloadFiles,
    days: Annotated[
        float | None, typer.Option(help="Number of days that the queries cover; adds figures per day.")
    ] = None,
    least_saving: Annotated[
        float, typer.Option(help="Smallest share of the queries' cost that a recommended rewrite must save.")
    ] = 0.1,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML page with charts to this file.")] = None,
    option: Options = None,
    branch: Annotated[str | None, typer.Option(help="Branch to read.")] = None,
    dialect: Dialect = None,
    as_of: AsOf = None,
    kind: QueryFileKind = None,
    readers: Readers = "spark",
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Recommend columns to cluster, sort or partition a table by, if a rewrite pays for its queries.

    Reads a sample of the columns that queries filter by; writes nothing to the table.
    Exit codes: 0 done, also if it recommends no change; 1 failed; 2 refused.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands import queries
        from iceberg_zorder.cli.table import named_table

        moment, engines = queries.moment_of(as_of), queries.readers_of(readers)
        found = named_table(table, "read the workload of", catalog, uri, warehouse, shown)
        files = queries.QueryFiles(found, tuple(workload), dialect, moment, kind, engines)
        return queries.advise(files, _pairs("--option", option), branch, days, least_saving, html, shown)

    _exit_after(work, f"the advice on {table}", shown)


@app.command(cls=_Command)
def init(
    to: Annotated[Path | None, typer.Option(help="Write the policy to this new file.", show_default="stdout")] = None,
    catalog: Catalog = None,
    uri: Uri = None,
    warehouse: Warehouse = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Write a first policy for maintain, with a catalog's tables and the clustering columns that it finds.

    It finds them in the property zorder.columns, the last rewrite, the table's sort order or its partitions.
    Exit codes: 0 done; 1 failed; 2 refused, for instance because the file exists.
    """
    shown = Output(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.commands.maintain import init as write_policy

        return write_policy(to, shown, catalog, uri, warehouse)

    _exit_after(work, "the new policy", shown)


@app.command(cls=_Command)
def maintain(
    policy: Annotated[Path, typer.Argument(help="Policy, a YAML file.", show_default=False)],
    watch: Annotated[bool, typer.Option("--watch", help="Repeat the pass at the policy's interval.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show decisions and reasons; write nothing.")] = False,
    log_file: Annotated[
        Path | None, typer.Option(help="Append each event to this file as a line of JSON.", show_default=False)
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(help="With --watch: serve /metrics and /health on this port of 127.0.0.1.", show_default=False),
    ] = None,
    metrics_textfile: Annotated[
        Path | None, typer.Option(help="Write metrics to this file after each pass.", show_default=False)
    ] = None,
    conf: Conf = None,
    output: OutputKind = "text",
    quiet: Quiet = False,
) -> None:
    """Keep the tables of a policy clustered: run one pass, or with --watch a pass at each interval.

    A pass reads each table's metadata. It first rewrites the tables where a rewritten byte saves filters most,
    within the policy's budget.
    Exit codes: 0 done (a rewrite that lost to a writer is not an error);
    1 a table or catalog failed, or a rule matches no table (the other tables are done);
    2 the policy was refused; 130 Ctrl-C; 143 SIGTERM.
    """
    shown = Output(output, quiet=quiet)

    def work(signals: Signals) -> int:
        from iceberg_zorder.cli.commands.maintain import run

        watched = {"log_file": log_file, "metrics_port": metrics_port, "metrics_textfile": metrics_textfile}
        settings = _pairs("--conf", conf)
        return run(policy, shown, signals, watch=watch, dry_run=dry_run, conf=settings, **watched)  # type: ignore[arg-type]

    _exit_after(work, "the maintenance", shown, leaves_files=True)
