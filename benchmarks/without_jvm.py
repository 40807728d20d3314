"""What the PyIceberg engine costs, beside others that need no JVM: ``make bench-pyiceberg``.

Every contender runs in a process of its own on the same TPC-H lineitem files: CPU seconds and peak memory are what the
system counted for that process, the start of Python included.

    copy      read and write the same rows with PyArrow, one batch at a time: the floor
    ours      rewrite_data_files by three columns, at two memory limits
    duckdb    COPY ... ORDER BY a ready-made key, at the same limits
    zamboni   z-order by the same columns, of the PyPI package iceberg-zamboni
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from benchmarks.bounds import file_bounds
from benchmarks.metrics import drawn_evenly, scan_fraction
from benchmarks.pages import head, how, table
from iceberg_zorder.pyiceberg import rewrite_data_files

COLUMNS = ("l_shipdate", "l_partkey", "l_suppkey")
MIB = 1024 * 1024
LIMITS = (1024 * MIB, 256 * MIB)
ZAMBONI = "iceberg-zamboni==0.7.0"
DATA = Path("benchmark-data") / "without-jvm"
PAGE, FIGURES = Path("docs/benchmarks/pyiceberg.md"), Path("docs/benchmarks/pyiceberg.json")
VALUES = 300
_ABOUT = """\
The PyIceberg engine rewrites without Spark. This page compares its CPU time and memory with those of a plain
copy, of DuckDB's sort and of the package iceberg-zamboni. It is for readers who choose an engine."""
_HOW = f"""\
[pyiceberg.json](pyiceberg.json) has every run. The table is TPC-H lineitem, clustered by {", ".join(COLUMNS)}.
Figures are medians of the rounds. Each program runs in a process of its own; CPU seconds and the peak (the largest
resident set) are of that process. """
_STEPS = (
    "*copy* reads and writes the rows and does nothing else. *Of copy* is a program's CPU seconds divided by those of "
    "*copy*.",
    "*duckdb* sorts by a hash of the clustering columns. The hash is computed beforehand, outside the measured time.",
    "*ours, as many files* writes about as many files as zamboni.",
)

ZAMBONI_SCRIPT = """
import sys
from pyiceberg.catalog.sql import SqlCatalog
from zamboni import CatalogSession, CompactionConfig, TableCompactor
directory, target, *columns = sys.argv[1:]
catalog = SqlCatalog("lake", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}/warehouse")
session = CatalogSession.from_catalog(catalog, threads=2)
config = CompactionConfig(
    target_file_size_bytes=int(target),
    zorder_columns=tuple(columns),
    rewrite_all=True,
    skip_partitions_newer_than_windows=None,
)
TableCompactor(session, "db.t", config).execute()
"""


@dataclass(frozen=True)
class Run:
    """One run of one contender.

    Parameters
    ----------
    name : str
        The contender.
    limit : int or None
        Its memory limit in bytes.
    cpu_seconds, wall_seconds : float
        What its process took.
    peak_bytes : int
        The largest resident set of its process.
    files, written_bytes : int
        What it wrote.
    scan_fraction : float or None
        Averaged over the columns, where it wrote a table.
    failure : str or None
        The end of what it said, if it failed.
    """

    name: str
    limit: int | None
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    files: int
    written_bytes: int
    scan_fraction: float | None
    failure: str | None = None


def sources(scale: float) -> list[Path]:
    """Make lineitem, once."""
    directory = DATA / f"sf{scale:g}"
    if not directory.exists():
        command = [
            str(Path(sys.executable).parent / "tpchgen-cli"),
            "parquet",
            "-s",
            f"{scale:g}",
            "--tables",
            "lineitem",
        ]
        command += ["--parts", "12", "--compression", "ZSTD(3)", "--output-dir", str(directory)]
        subprocess.run(command, check=True, capture_output=True)
    return sorted(directory.rglob("*.parquet"))


def keyed(scale: float) -> Path:
    """Make a copy of lineitem with a column ``key`` that puts its rows in another order, once; for DuckDB."""
    path = DATA / f"sf{scale:g}-keyed.parquet"
    if not path.exists():
        files = [str(file) for file in sources(scale)]
        unfinished = path.with_suffix(".unfinished")
        duckdb.sql(
            f"COPY (SELECT *, hash({', '.join(COLUMNS)}) >> 1 AS key FROM read_parquet({files})) TO '{unfinished}'"
            " (FORMAT parquet, COMPRESSION zstd)"
        )
        unfinished.rename(path)
    return path


def catalog_in(directory: Path) -> SqlCatalog:
    """Open the catalog of a contender's directory."""
    return SqlCatalog("lake", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}/warehouse")


def make_table(directory: Path, scale: float) -> Table:
    """Make a table of the files; they stay where they are."""
    catalog = catalog_in(directory)
    catalog.create_namespace("db")
    files = sources(scale)
    table = catalog.create_table("db.t", pq.read_schema(files[0]))
    table.add_files([str(file.resolve()) for file in files])
    return table


def copy(scale: float, directory: Path) -> None:
    """Read and write, and nothing else."""
    for number, file in enumerate(sources(scale)):
        source = pq.ParquetFile(file, pre_buffer=True)
        with pq.ParquetWriter(directory / f"{number}.parquet", source.schema_arrow, compression="zstd") as writer:
            for batch in source.iter_batches(131_072, use_threads=False):
                writer.write_batch(batch)


def ours(directory: Path, limit: int, target: int) -> None:
    """Rewrite the table."""
    catalog = catalog_in(directory)
    options = {"rewrite-all": True, "memory-limit-bytes": limit, "target-file-size-bytes": target}
    typer.echo(rewrite_data_files(catalog.load_table("db.t"), list(COLUMNS), options=options))


def order_by(scale: float, directory: Path, limit: int, target: int) -> None:
    """Sort by the ready-made key."""
    connection = duckdb.connect(
        config={"threads": 2, "memory_limit": f"{limit}B", "temp_directory": str(directory / "spill")}
    )
    (directory / "out").mkdir()
    connection.sql(
        f"COPY (SELECT * EXCLUDE key FROM read_parquet('{keyed(scale)}') ORDER BY key) TO '{directory}/out'"
        f" (FORMAT parquet, COMPRESSION zstd, FILE_SIZE_BYTES {target})"
    )


def zamboni_python() -> Path:
    """Install zamboni in an environment of its own, once."""
    home = DATA / "zamboni"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", ZAMBONI], check=True)
    return python


def measure(name: str, limit: int | None, command: Sequence[str], directory: Path, table: Table | None) -> Run:
    """Run one contender in a process of its own."""
    before = written(directory)
    with (directory / "said").open("w+") as said:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        # What wait4 counts as its largest resident set begins with this process's own.
        peak, done = 0, 0
        while not done:
            peak = max(peak, _peak_so_far(process.pid))
            time.sleep(0.02)
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        said.seek(0)
        text = said.read()
    added = written(directory) - before
    failed = process.returncode != 0
    return Run(
        name,
        limit,
        usage.ru_utime + usage.ru_stime,
        wall,
        peak,
        len(added),
        sum(file.stat().st_size for file in added),
        None if table is None or failed else fraction(table.refresh()),
        " ".join(text.split())[-300:] if failed else None,
    )


def _peak_so_far(process: int) -> int:
    """Read the largest resident set of a process, in bytes; 0 when it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def written(directory: Path) -> set[Path]:
    """All Parquet files in a directory."""
    return set(directory.rglob("*.parquet"))


def fraction(table: Table) -> float:
    """Average the scan fraction of equality over the columns."""
    bounds = file_bounds(table, COLUMNS)
    fractions = []
    for column in COLUMNS:
        sampled = table.scan(selected_fields=(column,), limit=200_000).to_arrow()[column]
        if pa.types.is_date(sampled.type):
            sampled = sampled.cast(pa.int32())
        values = drawn_evenly(sampled.drop_null().to_pylist(), VALUES)
        fractions.append(scan_fraction(values, bounds.lower[column], bounds.upper[column], bounds.sizes))
    return sum(fractions) / len(fractions)


def contend(scale: float, names: Sequence[str], limits: Sequence[int], target: int) -> list[Run]:
    """Run every contender once."""
    child = [sys.executable, "-m", "benchmarks.without_jvm", "--scale", f"{scale:g}", "--target", str(target)]
    runs = []

    def add(name: str, limit: int | None, command: Callable[[Path], list[str]], has_table: bool) -> None:
        with tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-", dir=DATA) as temporary:
            directory = Path(temporary).resolve()
            table = make_table(directory, scale) if has_table else None
            run = measure(name, limit, command(directory), directory, table)
        typer.echo(run)
        runs.append(run)

    if "copy" in names:
        add("copy", None, lambda at: [*child, "--child", "copy", str(at)], has_table=False)
    if "zamboni" in names:
        script = [str(zamboni_python()), "-c", ZAMBONI_SCRIPT]
        add("zamboni", None, lambda at: [*script, str(at), str(target), *COLUMNS], has_table=True)
        # The more files, the less there is to scan: so ours once with as many.
        same = ["--target", str(runs[-1].written_bytes // max(1, runs[-1].files)), "--limit", str(LIMITS[0])]
        add("ours, as many files", LIMITS[0], lambda at: [*child, *same, "--child", "ours", str(at)], has_table=True)
    for limit in limits:
        bounded = [*child, "--limit", str(limit)]
        if "ours" in names:
            add("ours", limit, lambda at, bounded=bounded: [*bounded, "--child", "ours", str(at)], has_table=True)  # type: ignore[misc]
        if "duckdb" in names:
            add("duckdb", limit, lambda at, bounded=bounded: [*bounded, "--child", "duckdb", str(at)], has_table=False)  # type: ignore[misc]
    return runs


def page(figures: dict[str, Any]) -> str:
    """Write the figures as a page."""
    lines = head("Rewrites without a JVM", _ABOUT)
    for scale, runs in figures["runs"].items():
        floor = _median(runs, "copy", None, "cpu_seconds")
        rows = [
            _row(runs, name, limit, floor) for name, limit in dict.fromkeys((run["name"], run["limit"]) for run in runs)
        ]
        header = (
            "program",
            "memory limit",
            "CPU s",
            "of copy",
            "wall s",
            "peak MiB",
            "files",
            "MB written",
            "scan fraction",
        )
        lines += ["", f"## Scale factor {scale}", "", *table(header, rows)]
    lines += how("make bench-pyiceberg", figures["machine"], _HOW, *_STEPS)
    return "\n".join([*lines, ""])


def _median(runs: list[dict[str, Any]], name: str, limit: int | None, what: str) -> float | None:
    values = [run[what] for run in runs if (run["name"], run["limit"]) == (name, limit) and run["failure"] is None]
    return median(values) if values and values[0] is not None else None


def _row(runs: list[dict[str, Any]], name: str, limit: int | None, floor: float | None) -> list[str]:
    shown = "" if limit is None else f"{limit // MIB} MiB"
    cpu = _median(runs, name, limit, "cpu_seconds")
    if cpu is None:
        failure = next(run["failure"] for run in runs if (run["name"], run["limit"]) == (name, limit))
        return [name, shown, f"failed: {failure}", *([""] * 6)]
    scanned = _median(runs, name, limit, "scan_fraction")
    cells = [
        f"{cpu:.1f}",
        "" if floor is None else f"{cpu / floor:.2f}x",
        f"{_median(runs, name, limit, 'wall_seconds'):.1f}",
        f"{(_median(runs, name, limit, 'peak_bytes') or 0) / MIB:,.0f}",
        f"{_median(runs, name, limit, 'files'):.0f}",
        f"{(_median(runs, name, limit, 'written_bytes') or 0) / 1e6:,.0f}",
        "" if scanned is None else f"{scanned:.1%}",
    ]
    return [name, shown, *cells]


def machine(*more: str) -> str:
    """Name the machine and the versions of packages: of what these benchmarks use, and of ``more``."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyiceberg", "pyarrow", "numpy", "duckdb", *more))
    return (
        f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, {packages}, {ZAMBONI.replace('==', ' ')}"
    )


def main() -> None:
    """Run the benchmark, or one contender as a child of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--target", type=int, default=24_000_000, help="bytes per file")
    parser.add_argument("--only", nargs="+", default=["copy", "ours", "duckdb", "zamboni"])
    parser.add_argument("--limits", type=int, nargs="+", default=LIMITS, help="memory limits in bytes")
    parser.add_argument("--limit", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, directory = arguments.child[0], Path(arguments.child[1])
        if name == "copy":
            copy(arguments.scale, directory)
        elif name == "ours":
            ours(directory, arguments.limit, arguments.target)
        else:
            order_by(arguments.scale, directory, arguments.limit, arguments.target)
        return
    DATA.mkdir(parents=True, exist_ok=True)
    sources(arguments.scale)
    if "duckdb" in arguments.only:
        keyed(arguments.scale)
    contest = arguments.scale, arguments.only, arguments.limits, arguments.target
    runs = [asdict(run) for _ in range(arguments.rounds) for run in contend(*contest)]
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"runs": {}}
    figures["machine"] = machine()
    new = {(run["name"], run["limit"]) for run in runs}
    kept = [run for run in figures["runs"].get(f"{arguments.scale:g}", []) if (run["name"], run["limit"]) not in new]
    figures["runs"][f"{arguments.scale:g}"] = kept + runs
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))
    typer.echo(PAGE.read_text())


if __name__ == "__main__":
    main()
