"""The commands that read the queries on a table: ``workload`` and ``advise``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from iceberg_zorder.advice.facts import WorkloadFiles
from iceberg_zorder.cli.app import QueryOptions
from iceberg_zorder.cli.commands.tables import check_page
from iceberg_zorder.cli.files import replace_text
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import failures
from iceberg_zorder.cli.table import NamedTable
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import advise as advise_on
from iceberg_zorder.pyiceberg.catalog import load_table
from iceberg_zorder.pyiceberg.listing.dimensions import with_dimensions
from iceberg_zorder.render.advice_text import advice_renderables
from iceberg_zorder.render.workload_text import workload_renderables
from iceberg_zorder.rewrite.predicate import as_timestamp
from iceberg_zorder.workload.dimension_keys import DEFAULT_READERS, check_readers
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.summary import summary
from iceberg_zorder.workload.workload_json import to_json


def how_to_read(asked: QueryOptions) -> dict[str, Any]:
    """Return options as arguments of :func:`iceberg_zorder.workload.read.read_workload`; raises InvalidInputError."""
    as_of = None if asked.as_of is None else as_timestamp(asked.as_of, has_zone=True)
    if asked.as_of is not None and as_of is None:
        raise InvalidInputError(
            f"Cannot use --as-of {asked.as_of}, because it is not a date or timestamp: write 2024-05-17 10:30:00Z"
        )
    readers = check_readers([each.strip() for each in asked.readers.split(",")])
    return {"dialect": asked.dialect, "as_of": as_of, "kind": asked.kind, "readers": readers}


def workload(table: NamedTable, files: Sequence[Path], how: Mapping[str, Any], to: Path | None, output: Output) -> int:
    """Read the workload of a table, and show or write it."""
    name = table.name
    if to is not None and not to.parent.is_dir():
        raise InvalidInputError(f"Cannot write --to {to}, because the directory {to.parent} does not exist")
    with failures(f"read the workload of {name}", output):
        loaded = load_table(table.catalog, table.identifier)
        with output.progress() as say:
            say(f"Reading {len(files)} files of queries on {name}")
            scanned, dimensions = with_dimensions(loaded, table.identifier)
            found = read_workload(files, scanned, dimensions=dimensions, **how)
    if to is not None:
        replace_text(to, to_json(found), flag="--to")
    told = {"table": name, "written": None if to is None else str(to), **summary(found)}

    def render(console: Console) -> None:
        for each in workload_renderables(told):
            console.print(each)

    output.show(told, render)
    return 0


def advise(
    table: NamedTable,
    files: Sequence[Path],
    how: Mapping[str, Any],
    settings: Mapping[str, Any],
    page: Path | None,
    output: Output,
) -> int:
    """Show advice on a table by the ``settings`` of :func:`iceberg_zorder.pyiceberg.advise`; writes nothing to it."""
    if page is not None:
        check_page(page)
    days, least_saving = settings["days"], settings["least_saving"]
    if days is not None and not days > 0:
        raise InvalidInputError(f"Cannot use --days {days:g}, because it must be more than 0")
    if not 0 <= least_saving <= 1:
        raise InvalidInputError(f"Cannot use --least-saving {least_saving:g}, because it must be in [0, 1]")
    read_with = {
        "dialect": how["dialect"],
        "as-of": how["as_of"].isoformat(" ") if how["as_of"] else None,
        "readers": ",".join(how["readers"]) if how["readers"] != DEFAULT_READERS else None,
    }
    with failures(f"advise on {table.name}", output):
        loaded = load_table(table.catalog, table.identifier)
        with output.progress() as say, output.work() as work:
            say(f"Reading {len(files)} files of queries on {table.name}")
            scanned, dimensions = with_dimensions(loaded, table.identifier)
            found = read_workload(files, scanned, dimensions=dimensions, **how)
            say(f"Simulating layouts of {table.name}")
            advice = advise_on(
                loaded,
                found,
                **settings,
                progress=work,
                files=WorkloadFiles.of(files, how["kind"], **read_with),
            )
    told = replace(advice, command=table.pasted(advice.command), preparation=table.pasted(advice.preparation)).to_dict()
    if page is not None:
        # Jinja2 is an extra and slow to import.
        from iceberg_zorder.render.pages import advice_page

        replace_text(page, advice_page(told), flag="--html")

    def render(console: Console) -> None:
        for each in advice_renderables(told):
            console.print(each, soft_wrap=isinstance(each, Text) and bool(each.no_wrap))

    output.show(told, render)
    if page is not None:
        output.note(f"Wrote {page}")
    return 0
