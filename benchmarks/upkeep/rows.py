"""The rows of tables that grow: in parts, the first fifty of which are the table before its first append."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from quickstart.data import generate

BASE_PARTS = 50
"""So that an append of one part is one of 2%."""

MERGES_PER_PART = 4
"""A merge inserts half a percent of the table, and updates as many rows."""

VALUES_OF_A_PART = 200
"""Values of each column that filters look for."""

_DETAILS = 64
_DAY = 86_400_000_000
_START = 1_750_000_000_000_000

Values = dict[str, npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Growing:
    """A table that grows.

    Parameters
    ----------
    name : str
        Its name.
    columns : tuple of str
        The clustering columns, all of them integers or timestamps.
    about : str
        What is special about it.
    bytes_per_row : float
        What a row takes in a file, about.
    make : callable
        From a directory, a number of parts and the rows of each to files ``part-000.parquet`` and so on.
    byte_limit : float
        The share of rewriting everything each time that upkeep may rewrite.
    merges : bool
        Whether it grows by merges of 1%, and not by appends of 2%.
    """

    name: str
    columns: tuple[str, ...]
    about: str
    bytes_per_row: float
    make: Callable[[Path, int, int], None]
    byte_limit: float
    merges: bool = False

    def parts(self, table_bytes: int, steps: int, data: Path) -> list[Path]:
        """Make the parts, unless they are there already.

        Parameters
        ----------
        table_bytes : int
            About the size of the table before it grows.
        steps : int
            How often it will grow.
        data : Path
            Where the directory of the parts goes.

        Returns
        -------
        list of Path
            A file for each part.
        """
        number = BASE_PARTS + (-(-steps // MERGES_PER_PART) if self.merges else steps)
        rows = max(1, round(table_bytes / self.bytes_per_row / BASE_PARTS))
        directory = data / f"{self.make.__name__.strip('_')}-{number}-parts-of-{rows}"
        if not directory.exists():
            # Only a complete directory gets its name, so that a run that was interrupted leaves nothing to be reused.
            unfinished = directory.with_name(f"{directory.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            self.make(unfinished, number, rows)
            unfinished.rename(directory)
        return sorted(directory.glob("part-*.parquet"))


def values_of(part: Path, columns: Sequence[str]) -> Values:
    """Draw what filters look for from the rows of a part: the values at evenly spaced ranks of each column."""
    table = pq.read_table(part, columns=list(columns))
    places = ((np.arange(VALUES_OF_A_PART) + 0.5) / VALUES_OF_A_PART * table.num_rows).astype(np.int64)
    return {name: np.sort(np.asarray(pc.cast(table[name], pa.int64())))[places] for name in columns}


def values_after(step: int, of_parts: Sequence[Values], *, merges: bool) -> Values:
    """Put the values together that the rows of a table have once it has grown so often."""
    parts = list(of_parts[: BASE_PARTS + step])
    if merges:
        whole, rest = divmod(step, MERGES_PER_PART)
        parts = list(of_parts[: BASE_PARTS + whole])
        if rest:
            begun = of_parts[BASE_PARTS + whole]
            parts.append({name: each[: len(each) * rest // MERGES_PER_PART] for name, each in begun.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in of_parts[0]}


def _lineitem(directory: Path, parts: int, rows: int) -> None:
    generated = directory / "generated"
    generate(generated, scale_factor=parts * rows / 6_000_000, files=parts)
    for number in range(parts):
        (generated / f"lineitem.{number + 1}.parquet").rename(directory / f"part-{number:03d}.parquet")
    shutil.rmtree(generated)


def _zipf(rng: np.random.Generator, rows: int, values: int, exponent: float) -> npt.NDArray[np.int64]:
    # The inverse of the distribution function, near enough, so that every part draws from the same values.
    uniform = rng.random(rows)
    rank = (values ** (1 - exponent) * uniform) ** (1 / (1 - exponent))
    # The most frequent values are anywhere among the others.
    scattered: npt.NDArray[np.int64] = rank.astype(np.int64) * 2_654_435_761 % values
    return scattered


def _write(
    path: Path, columns: dict[str, npt.NDArray[np.int64]], day: int, time: str, rng: np.random.Generator
) -> None:
    rows = len(next(iter(columns.values())))
    # As rows arrive: in the order of time, but for a minute.
    micros = np.sort(rng.integers(0, _DAY, rows)) + rng.integers(0, 60_000_000, rows) + day * _DAY + _START
    details = pa.Array.from_buffers(pa.binary(_DETAILS), rows, [None, pa.py_buffer(rng.bytes(rows * _DETAILS))])
    table = {
        **columns,
        time: pa.array(micros, pa.timestamp("us", "UTC")),
        "amount": np.round(rng.gamma(2, 50, rows), 2),
        "details": details.cast(pa.binary()),
    }
    pq.write_table(pa.table(table), path, compression="zstd")


def _events(directory: Path, parts: int, rows: int) -> None:
    for number in range(parts):
        rng = np.random.default_rng((10, number))
        users = _zipf(rng, rows, 1_000_003, 0.3)
        _write(directory / f"part-{number:03d}.parquet", {"user_id": users}, number, "ts", rng)


def _calls(directory: Path, parts: int, rows: int) -> None:
    for number in range(parts):
        rng = np.random.default_rng((11, number))
        numbers = {name: 15_500_000_000 + _zipf(rng, rows, 300_007, 0.7) for name in ("caller", "callee")}
        _write(directory / f"part-{number:03d}.parquet", numbers, number, "started_at", rng)


GROWING = (
    Growing("events", ("user_id", "ts"), "time-ordered: events of users, each append later", 80.0, _events, 0.10),
    Growing(
        "lineitem", ("l_partkey", "l_suppkey"), "domain-spanning: TPC-H, each append more orders", 32.0, _lineitem, 0.30
    ),
    Growing(
        "calls", ("caller", "callee", "started_at"), "skewed: telephone calls, each append later", 83.0, _calls, 0.30
    ),
    Growing(
        "upserts",
        ("l_partkey", "l_suppkey"),
        "lineitem, merges of 1%, half of them updates by position deletes",
        32.0,
        _lineitem,
        0.30,
        merges=True,
    ),
)
