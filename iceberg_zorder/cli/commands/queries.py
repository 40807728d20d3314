"""The commands that read the queries on a table: ``workload`` and ``advise``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from iceberg_zorder.advice.facts import WorkloadFiles
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
from iceberg_zorder.workload.dimension_keys import DEFAULT_READERS, Dimensions, check_readers
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.readers.files import Format
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.summary import summary
from iceberg_zorder.workload.workload import Workload
from iceberg_zorder.workload.workload_json import to_json


@dataclass(frozen=True)
class QueryFiles:
    """Files of queries on a table; the fields are those of :func:`iceberg_zorder.workload.read.read_workload`."""

    table: NamedTable
    files: tuple[Path, ...]
    dialect: str | None
    as_of: datetime | None
    kind: Format | None
    readers: tuple[str, ...] = DEFAULT_READERS

    def read(self, table: ScannedTable, dimensions: Dimensions) -> Workload:
        """Return the workload of the files; reads only dimensions, which the table is joined with."""
        return read_workload(
            self.files,
            table,
            dialect=self.dialect,
            as_of=self.as_of,
            kind=self.kind,
            dimensions=dimensions,
            readers=self.readers,
        )


def readers_of(text: str) -> tuple[str, ...]:
    """Parse ``--readers``; raises InvalidInputError."""
    return check_readers([each.strip() for each in text.split(",")])


def moment_of(text: str | None) -> datetime | None:
    """Parse ``--as-of``; raises InvalidInputError."""
    moment = None if text is None else as_timestamp(text, has_zone=True)
    if text is not None and moment is None:
        raise InvalidInputError(
            f"Cannot use --as-of {text}, because it is not a date or timestamp: write 2024-05-17 10:30:00Z"
        )
    return moment


def workload(queries: QueryFiles, to: Path | None, output: Output) -> int:
    """Read the workload of a table, and show or write it."""
    name = queries.table.name
    if to is not None and not to.parent.is_dir():
        raise InvalidInputError(f"Cannot write --to {to}, because the directory {to.parent} does not exist")
    with failures(f"read the workload of {name}", output):
        loaded = load_table(queries.table.catalog, queries.table.identifier)
        with output.progress() as say:
            say(f"Reading {len(queries.files)} files of queries on {name}")
            found = queries.read(*with_dimensions(loaded, queries.table.identifier))
    if to is not None:
        replace_text(to, to_json(found), flag="--to")
    told = {"table": name, "written": None if to is None else str(to), **summary(found)}

    def render(console: Console) -> None:
        for each in workload_renderables(told):
            console.print(each)

    output.show(told, render)
    return 0


def advise(
    queries: QueryFiles,
    options: Mapping[str, str],
    branch: str | None,
    days: float | None,
    least_saving: float,
    page: Path | None,
    output: Output,
) -> int:
    """Show advice on a table; reads a sample of it and writes nothing to it."""
    if page is not None:
        check_page(page)
    if days is not None and not days > 0:
        raise InvalidInputError(f"Cannot use --days {days:g}, because it must be more than 0")
    if not 0 <= least_saving <= 1:
        raise InvalidInputError(f"Cannot use --least-saving {least_saving:g}, because it must be in [0, 1]")
    table, as_of = queries.table, queries.as_of
    read_with = {
        "dialect": queries.dialect,
        "as-of": as_of.isoformat(" ") if as_of else None,
        "readers": ",".join(queries.readers) if queries.readers != DEFAULT_READERS else None,
    }
    with failures(f"advise on {table.name}", output):
        loaded = load_table(table.catalog, table.identifier)
        with output.progress() as say, output.work() as work:
            say(f"Reading {len(queries.files)} files of queries on {table.name}")
            found = queries.read(*with_dimensions(loaded, queries.table.identifier))
            say(f"Simulating layouts of {table.name}")
            advice = advise_on(
                loaded,
                found,
                options=options,
                branch=branch,
                days=days,
                least_saving=least_saving,
                progress=work,
                files=WorkloadFiles.of(queries.files, queries.kind, **read_with),
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
