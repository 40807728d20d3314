"""The commands that read the workload of a table: ``workload`` and ``advise``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iceberg_zorder.cli.endings import exit_after
from iceberg_zorder.cli.interruption import Signals
from iceberg_zorder.cli.parameters import (
    AsOf,
    Catalog,
    Dialect,
    Options,
    OutputKind,
    QueryFileKind,
    QueryFiles,
    Quiet,
    Table,
    Uri,
    Warehouse,
    WorkloadFiles,
)
from iceberg_zorder.cli.usage import output_of, pairs


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
    shown = output_of(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.arguments import checked_workload
        from iceberg_zorder.cli.commands.workload import run

        how = {"dialect": dialect, "as_of": as_of, "catalog": catalog, "uri": uri, "warehouse": warehouse}
        return run(checked_workload(table, from_, to, kind=kind, **how), shown)

    exit_after(work, f"the workload of {table}", shown, leaves_files=False)


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
    shown = output_of(output, quiet=quiet)

    def work(_: Signals) -> int:
        from iceberg_zorder.cli.arguments import checked_advice_request, checked_workload
        from iceberg_zorder.cli.commands.advise import run

        how = {"dialect": dialect, "as_of": as_of, "catalog": catalog, "uri": uri, "warehouse": warehouse}
        queries = checked_workload(table, workload, None, kind=kind, **how)
        request = checked_advice_request(
            queries,
            options=pairs("--option", option),
            branch=branch,
            days=days,
            least_saving=least_saving,
            page=html,
        )
        return run(request, shown)

    exit_after(work, f"the advice on {table}", shown, leaves_files=False)
