"""The application ``iceberg-zorder``: parses arguments, runs a command, exits with its code.

Exit codes: 0 done or nothing to do; 1 failed, or a check did not pass; 2 refused before the work began (wrong usage,
or the table does not allow it); 3 conflict with another operation; 4 unknown whether the commit succeeded; 130
interrupted by Ctrl-C; 143 by SIGTERM.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, get_type_hints

import typer
from typer.core import TyperCommand

from iceberg_zorder import __version__
from iceberg_zorder.cli.failure import FAILED, REFUSED, Failure
from iceberg_zorder.cli.interruption import Interrupted, Signals, exit_code, interruptible
from iceberg_zorder.cli.output import Output
from iceberg_zorder.errors import InvalidInputError

if TYPE_CHECKING:
    from iceberg_zorder.cli.table import NamedTable
    from iceberg_zorder.pyiceberg.catalog import CatalogConfiguration

app = typer.Typer(
    name="iceberg-zorder",
    help="Cluster the data files of Apache Iceberg tables by several columns, so that queries skip files.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Table = Annotated[str, typer.Argument(help="Table with its namespace, such as db.events.", show_default=False)]
Options = Annotated[list[str] | None, typer.Option("--option", metavar="K=V", help="Rewrite option; may be repeated.")]
Engine = Annotated[
    Literal["auto", "spark", "pyiceberg"],
    typer.Option(help="Engine that runs the rewrite; auto uses Spark if PySpark is installed, else PyIceberg."),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="K=V", help="Spark setting, such as spark.driver.memory=4g; may be repeated."),
]
Predicate = Annotated[
    list[str] | None,
    typer.Option(
        help='Show the share of the data that this condition reads, such as "a = 5 AND b > 3"; may be repeated.'
    ),
]
Html = Annotated[Path | None, typer.Option(help="Also write an HTML page with charts to this file.")]


@dataclass(frozen=True)
class RewriteArguments:
    """Options that say what to rewrite."""

    by: Annotated[
        str | None,
        typer.Option(
            help="Clustering columns (user_id,ts) or a sort order ('region DESC, hilbert(user_id, ts)'). "
            "Use dots for nested fields, backticks around special characters.",
            show_default="the table's property zorder.columns",
        ),
    ] = None
    where: Annotated[
        str | None,
        typer.Option(help="Spark SQL condition: rewrite only data files that may hold matching rows."),
    ] = None
    option: Options = None
    branch: Annotated[str | None, typer.Option(help="Branch to rewrite.")] = None

    def asked(self, **options: str) -> dict[str, Any]:
        """Return the arguments for either engine, with more options."""
        from iceberg_zorder.cli.commands.tables import asked_for

        options = {**_pairs("--option", self.option), **options}
        return asked_for(self.by, self.where, self.branch, options=options)


@dataclass(frozen=True)
class CatalogOptions:
    """Options that choose a catalog."""

    catalog: Annotated[
        str | None,
        typer.Option(help="Catalog name in PyIceberg's configuration.", show_default="PyIceberg's default"),
    ] = None
    uri: Annotated[str | None, typer.Option(help="Catalog URI, as in PyIceberg.")] = None
    warehouse: Annotated[str | None, typer.Option(help="Catalog warehouse, as in PyIceberg.")] = None

    def configuration(self, output: Output, default: str | None = None) -> CatalogConfiguration:
        """Return the catalog's configuration; messages hide its secrets."""
        # PySpark is an extra. It and PyIceberg take seconds to import, and --help and --version need neither.
        from iceberg_zorder.pyiceberg.catalog import catalog_properties

        name = default if self.catalog is None else self.catalog
        found = catalog_properties(name, uri=self.uri, warehouse=self.warehouse)
        output.hide(found.properties)
        return found

    def table(self, name: str, act: str, output: Output) -> NamedTable:
        """Return a table of the catalog."""
        from iceberg_zorder.cli.table import named_table

        return named_table(name, act, self.configuration(output))


@dataclass(frozen=True)
class PlanCatalogOptions(CatalogOptions):
    """Options that choose the catalog of a plan's table."""

    catalog: Annotated[
        str | None,
        typer.Option(help="Catalog name in PyIceberg's configuration.", show_default="the catalog in the plan"),
    ] = None


@dataclass(frozen=True)
class QueryOptions:
    """Options that say how to read files of queries."""

    dialect: Annotated[
        str | None, typer.Option(help="SQL dialect, such as trino or snowflake.", show_default="generic SQL")
    ] = None
    as_of: Annotated[
        str | None,
        typer.Option(help="Time that the queries get from current_date.", show_default="the log's time, else now"),
    ] = None
    kind: Annotated[
        Literal["sql", "rows", "conditions", "event-log", "workload"] | None,
        typer.Option("--format", help="Format of the files.", show_default="detected per file"),
    ] = None
    readers: Annotated[
        str,
        typer.Option(
            help="Engines that read the table, by commas: spark, trino and duckdb skip files by joins; other does not."
        ),
    ] = "spark"


@dataclass(frozen=True)
class OutputOptions:
    """Options of every command."""

    output: Annotated[
        Literal["text", "json"], typer.Option("--output", help="Format of the result, or of the error, on stdout.")
    ] = "text"
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress.")] = False


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


def _command(
    work: str, name: str | None = None, *, leaves_files: bool = False
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as a command, which exits with the code that it returns.

    ``work`` names the work in messages, given the arguments. A parameter whose type is a dataclass stands for one
    option for each of its fields. The function also receives ``output`` and, if it has such a parameter, ``signals``.
    """

    def register(run: Callable[..., int]) -> Callable[..., int]:
        declared = dict(inspect.signature(run, eval_str=True).parameters)
        takes_signals = declared.pop("signals", None) is not None
        declared["output"] = declared["output"].replace(annotation=OutputOptions)
        groups: dict[str, Any] = {each: of.annotation for each, of in declared.items() if is_dataclass(of.annotation)}
        options = []
        for each, of in declared.items():
            if each not in groups:
                options.append(of)
                continue
            types = get_type_hints(groups[each], include_extras=True)
            options += [
                inspect.Parameter(field.name, of.kind, default=field.default, annotation=types[field.name])
                for field in fields(groups[each])
            ]

        def command(**given: Any) -> None:
            doing = work.format(**given)
            for group, kind in groups.items():
                given[group] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            output = given["output"] = Output(given["output"].output, quiet=given["output"].quiet)

            def begun(signals: Signals) -> int:
                return run(**given, **({"signals": signals} if takes_signals else {}))

            _exit_after(begun, doing, output, leaves_files=leaves_files)

        command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        command.__doc__ = run.__doc__
        app.command(name or run.__name__, cls=_Command)(command)
        return run

    return register


@_command("the rewrite of {table}", leaves_files=True)
def rewrite(
    *,
    table: Table,
    arguments: RewriteArguments,
    engine: Engine = "auto",
    catalog: CatalogOptions,
    conf: Conf = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the rewrite and how much filters would read; write nothing.")
    ] = False,
    predicate: Predicate = None,
    output: Output,
    signals: Signals,
) -> int:
    """Rewrite a table's data files so that filters on any of the columns skip most files.

    The catalog comes from the options here, else from PYICEBERG_CATALOG__ variables, else from .pyiceberg.yaml.

    Exit codes: 0 done, or nothing to do; 1 failed; 2 refused before the work began;
    3 conflict with another operation; 4 unknown whether the commit succeeded; 130 Ctrl-C; 143 SIGTERM.
    """
    from iceberg_zorder.cli.commands import tables

    if predicate and not dry_run:
        raise InvalidInputError("Cannot use --predicate, because it needs --dry-run")
    asked = arguments.asked(**({"dry-run": "true"} if dry_run else {}))
    found = catalog.table(table, "rewrite", output)
    chosen = tables.engine_of(engine, found, _pairs("--conf", conf))
    result = chosen.rewrite(asked, predicate or [], output, signals.done)
    return tables.show_result(found.name, asked, result, output, chosen.name)


@_command("the plan of {table}")
def plan(
    *,
    table: Table,
    arguments: RewriteArguments,
    engine: Engine = "auto",
    catalog: CatalogOptions,
    conf: Conf = None,
    sampled: Annotated[
        bool, typer.Option("--sampled", help="Sample the columns, to plan layouts and predict how much filters read.")
    ] = False,
    predicate: Predicate = None,
    output: Output,
) -> int:
    """Show what rewrite would do with the same arguments, and why; write nothing.

    Reads only manifests, unless --sampled is given. Exit codes are those of rewrite.
    """
    from iceberg_zorder.cli.commands import tables

    if predicate and not sampled:
        raise InvalidInputError("Cannot use --predicate, because it needs --sampled")
    asked = arguments.asked()
    chosen = tables.engine_of(engine, catalog.table(table, "rewrite", output), _pairs("--conf", conf))
    return tables.show_plan(chosen.plan(asked, predicate or [], output, sampled=sampled), output)


@_command("the rewrite by {plan}", leaves_files=True)
def execute(
    *,
    plan: Annotated[Path, typer.Argument(help="Plan in JSON, made by either engine; - is stdin.", show_default=False)],
    engine: Engine = "auto",
    catalog: PlanCatalogOptions,
    conf: Conf = None,
    output: Output,
    signals: Signals,
) -> int:
    """Execute a plan in JSON that the command plan wrote.

    Refuses a plan if its files, the schema or the partition spec have changed since, or if it is for another table.
    Exit codes are those of rewrite.
    """
    from iceberg_zorder.cli.commands import tables
    from iceberg_zorder.cli.table import NamedTable

    read = tables.read_plan(plan)
    first, *identifier = read.table.split(".")
    found = NamedTable(tuple(identifier), catalog.configuration(output, first))
    chosen = tables.engine_of(engine, found, _pairs("--conf", conf))
    result = chosen.execute(read, output, signals.done)
    return tables.show_result(found.name, {"columns": read.spec.sort_order}, result, output, chosen.name)


@_command("the report on {table}")
def report(
    *,
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
    html: Html = None,
    engine: Annotated[
        Literal["spark", "pyiceberg"], typer.Option(help="Engine that reads the metadata.")
    ] = "pyiceberg",
    catalog: CatalogOptions,
    conf: Conf = None,
    output: Output,
) -> int:
    """Show how well a table is clustered, which problems it has, and what a rewrite would attain.

    Reads only metadata. Exit codes: 0 done, with or without findings; 1 failed; 2 refused.
    """
    from iceberg_zorder.cli.commands import tables

    asked = tables.asked_for(by, where, branch, predicates=predicate or [], workload=workload)
    chosen = tables.engine_of(engine, catalog.table(table, "report on", output), _pairs("--conf", conf))
    return tables.report(chosen, asked, compare, html, output)


@_command("the change of {table}", "set")
def set_defaults(
    *,
    table: Table,
    by: Annotated[str, typer.Option(help="Clustering columns or a sort order, as in rewrite.", show_default=False)],
    option: Options = None,
    catalog: CatalogOptions,
    output: Output,
) -> int:
    """Store a table's default columns and options for rewrites.

    They become the table properties zorder.columns and zorder.options, which both engines read.
    ALTER TABLE can set them, too. Exit codes: 0 done; 1 failed; 2 refused.
    """
    from iceberg_zorder.cli.commands import tables

    asked = RewriteArguments(by, option=option).asked()
    return tables.set_defaults(catalog.table(table, "change", output), asked, output)


@_command("the history of {table}")
def history(
    *,
    table: Table,
    branch: Annotated[str | None, typer.Option(help="Branch whose snapshots to read.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rewrites, newest first.")] = 20,
    catalog: CatalogOptions,
    output: Output,
) -> int:
    """Show a table's rewrites, with the share of the table that filters read before and after each.

    Reads only metadata. Rewrites whose snapshots have expired are missing. Exit codes: 0 done; 1 failed; 2 refused.
    """
    from iceberg_zorder.cli.commands import tables

    return tables.history(catalog.table(table, "read the history of", output), branch, limit, output)


@_command("the append to {table}", leaves_files=True)
def append(
    *,
    table: Table,
    files: Annotated[
        list[str],
        typer.Argument(help="Files of rows, found by names of columns; - is standard input.", show_default=False),
    ],
    file_format: Annotated[
        Literal["parquet", "csv"] | None,
        typer.Option("--format", help="Format of the files.", show_default="by their names; of standard input csv"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Clustering columns or a sort order, as in rewrite.",
            show_default="the table's property zorder.columns, else the last rewrite's",
        ),
    ] = None,
    option: Options = None,
    branch: Annotated[str | None, typer.Option(help="Branch to append to.")] = None,
    file_bytes: Annotated[
        int | None, typer.Option(min=1, help="Least bytes of a new file.", show_default="8388608, or the target size")
    ] = None,
    catalog: CatalogOptions,
    output: Output,
    signals: Signals,
) -> int:
    """Append rows of Parquet or CSV files, in data files that lie in few boxes of the table.

    All files are one append. An empty field of a CSV file is NULL.
    Exit codes are those of rewrite.
    """
    from iceberg_zorder.cli.commands import rows

    found = catalog.table(table, "append to", output)
    asked = {"columns": by, "options": _pairs("--option", option), "branch": branch, "file_bytes": file_bytes}
    return rows.append_files(found, files, file_format, asked, output, signals.done)


@_command("the undo on {table}")
def undo(
    *,
    table: Table,
    snapshot: Annotated[
        int | None, typer.Option(metavar="ID", help="Snapshot of the rewrite.", show_default="the newest rewrite")
    ] = None,
    branch: Annotated[str | None, typer.Option(help="Branch to move back.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be undone; write nothing.")] = False,
    catalog: CatalogOptions,
    output: Output,
) -> int:
    """Undo a rewrite and all rewrites after it, by moving the branch back to the snapshot before it.

    Changes only metadata. Refuses if other operations have written since.
    The message then lists the changes that would be lost, and has the SQL to undo anyway.
    Exit codes: 0 done; 1 failed; 2 refused; 3 conflict with another operation; 4 unknown whether the undo succeeded.
    """
    from iceberg_zorder.cli.commands import tables

    found = catalog.table(table, "undo a rewrite of", output)
    return tables.undo(found, snapshot, branch, output, dry_run=dry_run)


@_command("the check of {table}")
def check(
    *,
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
    catalog: CatalogOptions,
    output: Output,
) -> int:
    """Check whether a table is clustered well enough, for CI and alerts.

    Prints one line, and reads only metadata.
    Exit codes: 0 well enough; 1 not well enough, or the check failed (JSON has an error if it failed); 2 refused.
    """
    from iceberg_zorder.cli.commands import tables

    asked = tables.asked_for(by, branch=branch)
    return tables.check(catalog.table(table, "check", output), asked, max_ratio, output)


@_command("the workload of {table}")
def workload(
    *,
    table: Table,
    from_: Annotated[
        list[Path],
        typer.Option("--from", help="SQL file, file of conditions, query log or Spark event log; may be repeated."),
    ],
    to: Annotated[Path | None, typer.Option(help="Write the workload to this file.", show_default=False)] = None,
    reading: QueryOptions,
    catalog: CatalogOptions,
    output: Output,
) -> int:
    """Extract the filters on a table, and their frequency, from SQL files and query logs.

    Lists the statements and conditions that it does not understand. Exit codes: 0 done; 1 failed; 2 refused.
    """
    from iceberg_zorder.cli.commands import queries

    how = queries.how_to_read(reading)
    return queries.workload(catalog.table(table, "read the workload of", output), from_, how, to, output)


@_command("the advice on {table}")
def advise(
    *,
    table: Table,
    workload: Annotated[
        list[Path],
        typer.Option("--workload", help="Workload, or file of queries as in workload --from; may be repeated."),
    ],
    days: Annotated[
        float | None, typer.Option(help="Number of days that the queries cover; adds figures per day.")
    ] = None,
    least_saving: Annotated[
        float, typer.Option(help="Smallest share of the queries' cost that a recommended rewrite must save.")
    ] = 0.1,
    html: Html = None,
    option: Options = None,
    branch: Annotated[str | None, typer.Option(help="Branch to read.")] = None,
    reading: QueryOptions,
    catalog: CatalogOptions,
    output: Output,
) -> int:
    """Recommend columns to cluster, sort or partition a table by, if a rewrite pays for its queries.

    Reads a sample of the columns that queries filter by; writes nothing to the table.
    Exit codes: 0 done, also if it recommends no change; 1 failed; 2 refused.
    """
    from iceberg_zorder.cli.commands import queries

    how = queries.how_to_read(reading)
    found = catalog.table(table, "read the workload of", output)
    settings = {"options": _pairs("--option", option), "branch": branch, "days": days, "least_saving": least_saving}
    return queries.advise(found, workload, how, settings, html, output)


@_command("the new policy")
def init(
    *,
    to: Annotated[Path | None, typer.Option(help="Write the policy to this new file.", show_default="stdout")] = None,
    catalog: CatalogOptions,
    output: Output,
) -> int:
    """Write a first policy for maintain, with a catalog's tables and the clustering columns that it finds.

    It finds them in the property zorder.columns, the last rewrite, the table's sort order or its partitions.
    Exit codes: 0 done; 1 failed; 2 refused, for instance because the file exists.
    """
    from iceberg_zorder.cli.commands.maintain import init as write_policy

    return write_policy(to, catalog.configuration(output), output)


@_command("the maintenance", leaves_files=True)
def maintain(
    *,
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
    output: Output,
    signals: Signals,
) -> int:
    """Keep the tables of a policy clustered: run one pass, or with --watch a pass at each interval.

    A pass reads each table's metadata. It first rewrites the tables where a rewritten byte saves filters most,
    within the policy's budget.
    Exit codes: 0 done (a rewrite that lost to a writer is not an error);
    1 a table or catalog failed, or a rule matches no table (the other tables are done);
    2 the policy was refused; 130 Ctrl-C; 143 SIGTERM.
    """
    from iceberg_zorder.cli.commands.maintain import run

    return run(
        policy,
        output,
        signals,
        watch=watch,
        dry_run=dry_run,
        conf=_pairs("--conf", conf),
        log_file=log_file,
        metrics_port=metrics_port,
        metrics_textfile=metrics_textfile,
    )
