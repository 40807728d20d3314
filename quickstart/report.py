"""What the quickstart shows: progress, the table of before and after, and what to try next."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from iceberg_zorder.spark.session import JARS, PACKAGES, jar_settings
from quickstart.data import CATALOG, FULL_NAME, TABLE, Warehouse
from quickstart.measure import Comparison, Fingerprint, Measurement
from quickstart.queries import CLUSTERING_COLUMNS

WIDTH = 100


@dataclass
class Step:
    """A step that is under way; what is put into ``done`` is shown when it is over."""

    title: str
    status: Status | None
    done: str = ""

    def now(self, text: str) -> None:
        """Show what is going on inside the step; on a terminal only."""
        if self.status is not None:
            self.status.update(Text(f"{self.title}: {text}"))


class Report:
    """Writes to the terminal.

    Parameters
    ----------
    console : Console
        Where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Show that a step is under way, and how long it took: a spinner on a terminal, lines elsewhere."""
        started = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(Text(title)) as status:
                step = Step(title, status)
                yield step
        else:
            self._line(f"{title} ...")
            step = Step(title, None)
            yield step
        seconds = f"{time.monotonic() - started:.0f} s"
        text = Text("✓ ", style="green") if self._console.is_terminal else Text("  ")
        text.append(step.done or "done")
        text.append(f"  {seconds}", style="dim")
        self._line(text)

    def title(self, scale_factor: float, files: int) -> None:
        """Say what is about to happen."""
        columns = ", ".join(CLUSTERING_COLUMNS)
        self._line(Text("iceberg-zorder quickstart", style="bold"))
        self._line(f"TPC-H lineitem at scale factor {scale_factor:g} in {files} files, rewritten by {columns}")
        self._line()

    def call(self, options: Mapping[str, str]) -> None:
        """Show the rewrite as SQL."""
        self._line()
        self._line("The rewrite, as SQL that any Spark client can send:")
        self._line(Text(call_sql(options), style="cyan"))
        self._line()

    def comparisons(self, comparisons: Sequence[Comparison], by_ingestion: Comparison) -> None:
        """Show before and after, per query and in total, and below what the rewrite costs."""
        table = Table(box=SIMPLE_HEAD, width=WIDTH, padding=(0, 1), show_edge=False, pad_edge=False)
        table.add_column("query", ratio=1)
        for header in ("files planned", "MB planned", "MB read by Spark"):
            table.add_column(header, justify="right", no_wrap=True)
        table.add_column("result", no_wrap=True)
        for comparison in comparisons:
            _add_row(table, comparison.query.title, [comparison])
        table.add_section()
        _add_row(table, "all twelve", comparisons, style="bold")
        table.add_section()
        _add_row(table, f"{by_ingestion.query.title}, by l_orderkey *", [by_ingestion], style="dim")
        self._line()
        self._console.print(table, width=WIDTH)
        self._line()
        self._line(
            Text(
                "* what it costs: the files were in the order of l_orderkey, and l_orderkey is no clustering column.",
                style="dim",
            )
        )
        if by_ingestion.before.bytes_read is None:
            self._line(Text("  Bytes read by Spark can only be counted on Linux.", style="dim"))
        self._line()

    def verdict(
        self, comparisons: Sequence[Comparison], by_ingestion: Comparison, before: Fingerprint, after: Fingerprint
    ) -> None:
        """Say whether everything is as it was, and what was gained."""
        different = [c.query.title for c in (*comparisons, by_ingestion) if not c.identical]
        if different:
            self._line(Text(f"Results differ after the rewrite: {', '.join(different)}", style="bold red"))
        if before != after:
            self._line(Text(f"The table's rows differ after the rewrite: {before} became {after}", style="bold red"))
        if different or before != after:
            return
        planned = _share([c.before.bytes_planned for c in comparisons], [c.after.bytes_planned for c in comparisons])
        read = _share([c.before.bytes_read for c in comparisons], [c.after.bytes_read for c in comparisons])
        text = f"The twelve queries now plan {planned} of the bytes they did" + (f", and read {read}." if read else ".")
        self._line(Text(text, style="bold green"))
        self._line(f"Their results are identical, and so are all {before.rows:,} rows of the table.")

    def next_steps(self, warehouse: Warehouse, options: Mapping[str, str], page: Path) -> None:
        """Say what to try next."""
        size = int(options["target-file-size-bytes"])
        self._line()
        self._line(Text("What to try next", style="bold"))
        self._line("A query or a CALL in SQL, with nothing but the two jars (Iceberg's and this one's) and a catalog:")
        self._command(spark_sql_command(warehouse, f"SELECT count(*) FROM {FULL_NAME} WHERE l_partkey = 42"))
        self._line("The rewrite from the command line, by other columns:")
        self._command(rewrite_command(warehouse, ["l_partkey", "l_shipdate"], size))
        self._line(f"The queries are in {_shown(Path(__file__).with_name('queries.py'))}.")
        self._line(f"The layout before and after, to look at in a browser, is in {_shown(page)}.")
        self._line(f"The warehouse stays in {_shown(warehouse.directory)}; delete it when you are done.")

    def failure(self, message: str) -> None:
        """Show why the quickstart stopped."""
        self._line(Text(f"Error: {message}", style="red"))

    def _command(self, lines: Sequence[str]) -> None:
        self._line()
        self._line(Text(" \\\n    ".join(lines), style="cyan"))
        self._line()

    def _line(self, text: str | Text = "") -> None:
        # Commands must survive being copied, so nothing is wrapped.
        self._console.print(Text(text) if isinstance(text, str) else text, soft_wrap=True)


def call_sql(options: Mapping[str, str]) -> str:
    """Write the rewrite as SQL over several lines.

    Examples
    --------
    >>> print(call_sql({"rewrite-all": "true"}))
    CALL quickstart.system.rewrite_data_files(
      table => 'tpch.lineitem',
      strategy => 'zorder',
      sort_order => 'zorder(l_shipdate, l_partkey, l_suppkey)',
      options => map('rewrite-all', 'true'))
    """
    entries = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
    return (
        f"CALL {CATALOG}.system.rewrite_data_files(\n"
        f"  table => '{TABLE}',\n"
        "  strategy => 'zorder',\n"
        f"  sort_order => 'zorder({', '.join(CLUSTERING_COLUMNS)})',\n"
        f"  options => map({entries}))"
    )


def spark_sql_command(warehouse: Warehouse, statement: str) -> list[str]:
    """Write the command that runs a statement in spark-sql, one argument or pair per line."""
    catalog = warehouse.for_spark
    jars = jar_settings({}, extra_packages=catalog.packages)
    pairs = [("--jars", _shown(Path(jars[JARS]))), ("--packages", jars[PACKAGES])]
    # Without Hive's own catalog no metastore_db is left in the current directory.
    settings = {"spark.sql.catalogImplementation": "in-memory", **catalog.settings}
    pairs += [("--conf", f"{name}={value}") for name, value in settings.items()]
    # PySpark's scripts would look for it in the first python3 on PATH, which need not be this one.
    spark_home = shlex.quote(_shown(Path(pyspark.__file__).parent))
    return [
        f"SPARK_HOME={spark_home} {_program('spark-sql')}",
        *(f"{flag} {shlex.quote(value)}" for flag, value in pairs),
        f"-e {shlex.quote(statement)}",
    ]


def rewrite_command(warehouse: Warehouse, columns: Sequence[str], file_size: int) -> list[str]:
    """Write the command that rewrites the table from the command line."""
    properties = warehouse.properties
    return [
        f"{_program('iceberg-zorder')} rewrite {TABLE} --by {','.join(columns)} --catalog {CATALOG}",
        f"--uri {shlex.quote(properties['uri'])}",
        f"--warehouse {shlex.quote(properties['warehouse'])}",
        f"--option rewrite-all=true --option target-file-size-bytes={file_size}",
    ]


def _add_row(table: Table, title: str, comparisons: Sequence[Comparison], *, style: str = "") -> None:
    before = [comparison.before for comparison in comparisons]
    after = [comparison.after for comparison in comparisons]
    identical = all(comparison.identical for comparison in comparisons)
    table.add_row(
        title,
        _arrow(f"{_files(before):,}", f"{_files(after):,}", 4),
        _arrow(_megabytes([m.bytes_planned for m in before]), _megabytes([m.bytes_planned for m in after]), 6),
        _arrow(_megabytes([m.bytes_read for m in before]), _megabytes([m.bytes_read for m in after]), 6),
        Text("identical", style="green") if identical else Text("DIFFERS", style="bold red"),
        style=style,
    )


def _files(measurements: Sequence[Measurement]) -> int:
    return sum(measurement.files_planned for measurement in measurements)


def _arrow(before: str, after: str, width: int) -> str:
    return f"{before:>{width}} → {after:>{width}}"


def _total(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _megabytes(sizes: Sequence[int | None]) -> str:
    total = _total(sizes)
    return "-" if total is None else f"{total / 1e6:,.1f}"


def _share(before: Sequence[int | None], after: Sequence[int | None]) -> str | None:
    was, is_now = _total(before), _total(after)
    return f"{is_now / was:.0%}" if was and is_now is not None else None


def _program(name: str) -> str:
    """Name a program of the environment that this Python belongs to."""
    return shlex.quote(_shown(Path(sys.executable).with_name(name)))


def _shown(path: Path) -> str:
    """Shorten a path to a relative one when it lies inside the current directory."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
