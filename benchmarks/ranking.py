"""What a fixed budget of bytes saves queries, by how maintenance ranks file groups: ``make bench-ranking``.

Ten tables of different need are observed as a pass of maintenance observes them. Each file group that it would rewrite
is rewritten and committed by itself, so that what each has saved is known: what ``column = value`` with values of the
table's rows costs on its old files, by their lower/upper bounds in the manifests, less what it costs on its new ones.
File groups have no file in common, so that what a set of them saves is the sum. Then each ranking spends
the same budget on the same file groups, passing over those that do not fit any more.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from benchmarks.metrics import drawn_evenly
from benchmarks.pages import head, how, paragraph, table
from benchmarks.without_jvm import catalog_in, machine
from iceberg_zorder.maintain.decide import within
from iceberg_zorder.maintain.observation import FileGroupNeed, TableName
from iceberg_zorder.maintain.policy.settings import TableSettings
from iceberg_zorder.metrics.scan_cost import open_cost, planning_cost
from iceberg_zorder.pyiceberg import execute, rewrite_data_files
from iceberg_zorder.pyiceberg.maintain.observe import observe

PAGE, FIGURES = Path("docs/benchmarks/ranking.md"), Path("docs/benchmarks/ranking.json")
SHARES = (0.1, 0.25, 0.5)
PARTITIONS = 4
FILES = 24
"""Files of the target size in a partition of a table of the usual size."""
VALUES = 1_000
_ABOUT = """\
A pass of `maintain` spends its budget on the file groups whose rewrite saves filters most, for each byte rewritten.
This page compares that ranking with three others, for people who choose a budget."""
_HOW = """\
[ranking.json](ranking.json) has every file group. Ten tables with different needs have two clustering columns and
{partitions} partitions. The benchmark started a rewrite of each planned file group. A rewrite skips a file group if
filters would gain too little; the saving is then 0. The measured saving is how much less `column = value` costs, by
the bounds in the manifests. A filter costs the bytes of the files that it reads, an open cost of an eighth of a file
for each, and 1/32 of that for each file of the table. All rankings choose from the same file groups, with the same
budget. *Hindsight* ranks by measured savings, which nobody knows in advance."""
_STEPS = (
    "*rested* was rewritten, and is unchanged since. *few-new* and *many-new* were rewritten, and then got few or many "
    "appends. *late* got appends beyond all other rows in one column. *deleted* lost rows, and then got appends. "
    "*large* is four times as large, and got appends.",
    "*never* and *never-small* were never rewritten; the second has small files. *tight-but-small* has small files "
    "that do not overlap. *sorted* is sorted by one of the two columns.",
)
DOMAIN = 1 << 40
ROW_BYTES = 26
"""Of a row in a file: 24 bytes do not compress."""
SCHEMA = pa.schema([("p", pa.int64()), ("a", pa.int64()), ("b", pa.int64()), ("payload", pa.int64())])

Rng = np.random.Generator


@dataclass(frozen=True)
class Group:
    """A file group that was rewritten.

    Parameters
    ----------
    table : str
        Of which table.
    need : FileGroupNeed
        What maintenance knew of it before.
    fewer_files : int
        How many data files fewer there are.
    saved : float
        How much less ``column = value`` costs, in bytes, on average over the columns.
    """

    table: str
    need: FileGroupNeed
    fewer_files: int
    saved: float


def rows(rng: Rng, count: int, *, a: tuple[int, int] = (0, DOMAIN), b: tuple[int, int] = (0, DOMAIN)) -> pa.Table:
    """Draw rows of all partitions, evenly from a box."""
    columns = {
        "p": np.arange(count) % PARTITIONS,
        "a": rng.integers(*a, count),
        "b": rng.integers(*b, count),
        "payload": rng.integers(0, DOMAIN, count),
    }
    return pa.table(columns, SCHEMA)


@dataclass
class Need:
    """A table as it is made, and what it is to need."""

    table: Table
    rng: Rng
    size: int
    """Rows of a file of the target size, in each partition."""

    def append(self, files: float, **box: tuple[int, int]) -> None:
        """Append rows to every partition, as many as so many files of the target size have."""
        self.table.append(rows(self.rng, int(PARTITIONS * files * self.size), **box))

    def laid_out(self, files: int = FILES) -> None:
        """Fill the table, and lay all of it out."""
        self.append(files)
        rewrite_data_files(self.table, "a, b", options={"rewrite-all": True, **options(self.size)})


def options(size: int) -> dict[str, str]:
    """Set the target so that a file has so many rows."""
    return {"target-file-size-bytes": str(ROW_BYTES * size), "compression-factor": "1", "min-age-seconds": "0"}


def _appends(need: Need, count: int, files: float, **box: tuple[int, int]) -> None:
    for _ in range(count):
        need.append(files, **box)


def _rested(need: Need) -> None:
    need.laid_out()


def _few_new(need: Need) -> None:
    need.laid_out()
    _appends(need, 2, 1)


def _many_new(need: Need) -> None:
    need.laid_out()
    _appends(need, 24, 0.25)


def _late(need: Need) -> None:
    """Append rows beyond all others in b, as those of a later day lie."""
    need.append(FILES, b=(0, DOMAIN >> 1))
    rewrite_data_files(need.table, "a, b", options={"rewrite-all": True, **options(need.size)})
    for day in range(12):
        first = (DOMAIN >> 1) + day * (DOMAIN >> 6)
        need.append(0.25, b=(first, first + (DOMAIN >> 6)))


def _never(need: Need) -> None:
    _appends(need, FILES, 1)


def _never_small(need: Need) -> None:
    _appends(need, 2 * FILES, 0.1)


def _tight_but_small(need: Need) -> None:
    """Small files of disjoint boxes: fewer are no better for filters."""
    for place in range(64):
        a, b = place % 8 * (DOMAIN >> 3), place // 8 * (DOMAIN >> 3)
        need.append(0.2, a=(a, a + (DOMAIN >> 3)), b=(b, b + (DOMAIN >> 3)))


def _sorted(need: Need) -> None:
    for place in range(FILES):
        a = place * (DOMAIN // FILES)
        need.append(1, a=(a, a + DOMAIN // FILES))


def _deleted(need: Need) -> None:
    """Delete a third of the rows of one partition, copy on write, and append small files."""
    need.laid_out()
    need.table.delete(f"p = 1 and a < {DOMAIN // 3}")
    _appends(need, 6, 0.3)


def _large(need: Need) -> None:
    """Four times as many rows as the others, and some appends."""
    need.laid_out(4 * FILES)
    _appends(need, 6, 1)


TABLES: dict[str, Callable[[Need], None]] = {
    "rested": _rested,
    "few-new": _few_new,
    "many-new": _many_new,
    "late": _late,
    "never": _never,
    "never-small": _never_small,
    "tight-but-small": _tight_but_small,
    "sorted": _sorted,
    "deleted": _deleted,
    "large": _large,
}


def groups_of(name: str, directory: Path, size: int) -> list[Group]:
    """Make a table, observe it, and rewrite its file groups one by one."""
    catalog = catalog_in(directory)
    catalog.create_namespace("db")
    properties = {"read.split.open-file-cost": str(ROW_BYTES * size // 8)}
    table = catalog.create_table(f"db.{name.replace('-', '_')}", SCHEMA, properties=properties)
    with table.update_spec() as update:
        update.add_field("p", IdentityTransform(), "p")
    TABLES[name](Need(table, np.random.default_rng(11), size))
    settings = TableSettings(by="a, b", options=options(size))
    found, plan = observe(table, TableName("lake", ("db",), name), settings, datetime.now(timezone.utc))
    values = {column: drawn(table, column) for column in ("a", "b")}
    groups, needs = [], {need.index: need for need in found.groups}
    for group in plan.groups:
        before = files_of(table)
        execute(table, plan.with_groups({group.index}))
        table.refresh()
        after = files_of(table)
        gone = [before[path] for path in before.keys() - after.keys()]
        new = [after[path] for path in after.keys() - before.keys()]
        saved = cost(table, gone, values) - cost(table, new, values)
        groups.append(Group(name, needs[group.index], len(gone) - len(new), saved))
    catalog.close()
    return groups


def files_of(table: Table) -> dict[str, DataFile]:
    """Find the data files of a table by their paths."""
    return {task.file.file_path: task.file for task in table.scan().plan_files()}


def drawn(table: Table, column: str) -> list[int]:
    """Draw values of a column's rows, evenly by rank."""
    return drawn_evenly(table.scan(selected_fields=(column,)).to_arrow()[column].to_pylist(), VALUES)


def cost(table: Table, files: Sequence[DataFile], values: dict[str, list[int]]) -> float:
    """Return what ``column = value`` costs on files, in bytes, on average over values and columns."""
    opening = open_cost(table.properties)
    costs = np.array([file.file_size_in_bytes + opening for file in files])
    total = len(values) * planning_cost(len(files), opening)
    for column, looked_for in values.items():
        field = table.schema().find_field(column).field_id
        lower, upper = (
            np.array([int.from_bytes(ends[field], "little", signed=True) for ends in each])
            for each in ([file.lower_bounds for file in files], [file.upper_bounds for file in files])
        )
        wanted = np.array(looked_for)[:, None]
        total += float((((lower <= wanted) & (wanted <= upper)) * costs).sum()) / len(looked_for)
    return total / len(values)


def by_our_rank(groups: Sequence[Group], budget: int) -> list[Group]:
    """Spend a budget as maintenance does."""
    # Needs of different tables are told apart by who they are, as decisions do.
    of = {id(each.need): each for each in groups}
    return [of[id(need)] for need in within([each.need for each in groups], budget)]


def by_files(groups: Sequence[Group], budget: int) -> list[Group]:
    """Spend a budget on what removes most files for its bytes, as OpenHouse's data layout optimisation ranks."""
    return _fitting(sorted(groups, key=lambda each: -each.fewer_files / each.need.size), budget)


def in_turns(groups: Sequence[Group], budget: int) -> list[Group]:
    """Spend a budget on a file group of each table in turn, in the order of their plans."""
    queues = [[each for each in groups if each.table == name] for name in dict.fromkeys(g.table for g in groups)]
    longest = max(map(len, queues), default=0)
    return _fitting([queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)], budget)


def by_hindsight(groups: Sequence[Group], budget: int) -> list[Group]:
    """Spend a budget on what turned out to save most for its bytes, which nobody knows before."""
    return _fitting(sorted(groups, key=lambda each: -each.saved / each.need.size), budget)


RANKINGS: dict[str, Callable[[Sequence[Group], int], list[Group]]] = {
    "ours: expected savings for each byte rewritten": by_our_rank,
    "files removed for each GB rewritten (OpenHouse)": by_files,
    "round robin": in_turns,
    "hindsight: measured savings for each byte rewritten": by_hindsight,
}


def _fitting(groups: Sequence[Group], budget: int) -> list[Group]:
    taken = []
    for each in groups:
        if each.need.size <= budget:
            taken.append(each)
            budget -= each.need.size
    return taken


def page(figures: dict[str, Any]) -> str:
    """Write the page of the figures."""
    groups = [Group(**{**each, "need": FileGroupNeed(**each["need"])}) for each in figures["groups"]]
    wanted, saved = sum(each.need.size for each in groups), sum(each.saved for each in groups)
    ranked = []
    for name, rank in RANKINGS.items():
        shares = [sum(each.saved for each in rank(groups, int(share * wanted))) / saved for share in SHARES]
        ranked.append([name, *(f"{share:.1%}" for share in shares)])
    lines = [
        *head("Savings of a budget, by ranking", _ABOUT, figures.get("note", "")),
        "",
        "## Result",
        "",
        *paragraph(
            f"The {len(groups)} file groups have {wanted / 1e6:,.1f} MB together. After a rewrite of all of them, a "
            f"filter costs {saved / 1e6:,.2f} MB less. The table shows which share of this saving each ranking reaches "
            "with a budget."
        ),
        "",
        *table(("ranking", *(f"budget of {share:.0%} of the bytes" for share in SHARES)), ranked),
        "",
        "## Tables",
        "",
        *table(
            (
                "table",
                "file groups",
                "MB",
                "files removed",
                "MB saved, expected",
                "MB saved, measured",
                "MB saved per MB rewritten",
            ),
            [_row(name, [each for each in groups if each.table == name]) for name in TABLES],
        ),
        *how("make bench-ranking", figures["machine"], _HOW.format(partitions=PARTITIONS), *_STEPS),
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, groups: Sequence[Group]) -> list[str]:
    size, saved = sum(each.need.size for each in groups), sum(each.saved for each in groups)
    expected = sum(each.need.saved_bytes for each in groups)
    fewer = sum(each.fewer_files for each in groups)
    worth = f"{saved / size:.3f}" if size else "–"
    sizes = (f"{size / 1e6:.1f}", str(fewer), f"{expected / 1e6:.2f}", f"{saved / 1e6:.2f}")
    return [name, str(len(groups)), *sizes, worth]


def main(
    size: Annotated[int, typer.Option(help="Rows of a file of the target size.")] = 20_000,
) -> None:
    """Measure, and write the page."""
    logging.getLogger("iceberg_zorder").setLevel(logging.ERROR)
    groups = []
    for name in TABLES:
        with tempfile.TemporaryDirectory() as directory:
            found = groups_of(name, Path(directory), size)
        typer.echo(" ".join(_row(name, found)))
        groups += found
    figures = {"machine": machine(), "groups": [asdict(each) for each in groups]}
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))
    typer.echo(PAGE.read_text())


if __name__ == "__main__":
    typer.run(main)
