"""What the histories of tables that grow found, as values that are written to JSON after each step and read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from benchmarks.upkeep.rows import Values
from iceberg_zorder.metrics.scan_cost import open_cost, scan_cost

RATIO_LIMIT, MEAN_LIMIT = 1.25, 1.15
"""What filters may read or cost after each run, and on average, of what they would after rewriting everything."""
COLUMN_LIMIT = 1.35
"""The same for what filters on one column read after each run."""

OURS, OURS_PYICEBERG = "ours", "ours, PyIceberg"
ICEBERG, DELTA = "Iceberg zorder, by size", "Delta liquid, OPTIMIZE"
ICEBERG_ALL = "Iceberg zorder, rewrite-all"


@dataclass(frozen=True)
class Files:
    """The data files of a table, as its metadata has them.

    Parameters
    ----------
    sizes : dict of str to int
        Bytes, by path.
    lower, upper : dict of str to ndarray of int64
        Bounds by column, a value for each file in that order.
    delete_files : int
        Delete files beside them.
    """

    sizes: dict[str, int]
    lower: Values
    upper: Values
    delete_files: int = 0

    @property
    def bytes(self) -> int:
        """All of them together."""
        return sum(self.sizes.values())


@dataclass(frozen=True)
class Step:
    """What came of one append, or merge, and the upkeep after it.

    Parameters
    ----------
    number : int
        Which one; 0 is the rewrite of everything before the first.
    state : str
        What the table is restored to where a run goes on.
    table_bytes : int
        Data files before the upkeep: what rewriting everything would rewrite.
    before, after : dict of str to float
        By column, the share of the bytes that ``column = value`` reads before and after the upkeep.
    written_bytes, removed_bytes : int
        Sizes of the data files that the upkeep wrote, and took out.
    files, delete_files : int
        How many there are afterwards.
    full : dict of str to float or None
        What ``column = value`` reads if everything is rewritten here, where that was done.
    predicted : dict of str to float or None
        The same as a dry run predicts.
    second_bytes : int or None
        What a second upkeep right after would rewrite, by a dry run.
    reason : str or None
        Why the upkeep rewrites what it does, as its plan says.
    """

    number: int
    state: str
    table_bytes: int
    before: dict[str, float]
    after: dict[str, float]
    written_bytes: int
    removed_bytes: int
    files: int
    delete_files: int
    full: dict[str, float] | None = None
    predicted: dict[str, float] | None = None
    second_bytes: int | None = None
    reason: str | None = None

    @property
    def scan(self) -> float:
        """What is read afterwards, the mean over the columns."""
        return fmean(self.after.values())

    @property
    def attainable(self) -> float | None:
        """What would be read if everything was rewritten: really where that was done, else as predicted."""
        known = self.full or self.predicted
        return None if known is None else fmean(known.values())

    @property
    def ratio(self) -> float | None:
        """What is read, of what would be if everything was rewritten."""
        return None if self.attainable is None else self.scan / self.attainable

    @property
    def column_ratio(self) -> float | None:
        """The largest such ratio of one column."""
        known = self.full or self.predicted
        return None if known is None else max(self.after[name] / share for name, share in known.items())

    def cost_ratio(self, target_bytes: int) -> float | None:
        """Tell what a filter costs, of what it would if everything was rewritten to files of ``target_bytes``."""
        if self.attainable is None:
            return None
        size = self.table_bytes + self.written_bytes - self.removed_bytes
        full_files = max(1, round(size / target_bytes))
        return _cost(self.scan, size, self.files) / _cost(self.attainable, size, full_files)

    @property
    def prediction_error(self) -> float | None:
        """How far the prediction is off what rewriting everything really brought."""
        if self.full is None or self.predicted is None:
            return None
        return fmean(self.predicted.values()) / fmean(self.full.values()) - 1


@dataclass
class History:
    """How one system kept one table.

    Parameters
    ----------
    set, system : str
        Their names.
    target_bytes : int
        The size that files were to have.
    steps : list of Step
        As far as it went.
    """

    set: str
    system: str
    target_bytes: int
    steps: list[Step] = field(default_factory=list)

    @property
    def grown(self) -> list[Step]:
        """The steps at which the table grew."""
        return self.steps[1:]

    @property
    def ratios(self) -> list[float]:
        """The scan fractions after each upkeep, of those of a full rewrite."""
        return [ratio for step in self.grown if (ratio := step.ratio) is not None]

    @property
    def column_ratios(self) -> list[float]:
        """The largest ratio of one column after each upkeep."""
        return [ratio for step in self.grown if (ratio := step.column_ratio) is not None]

    @property
    def cost_ratios(self) -> list[float]:
        """What filters cost after each upkeep, of what they would after a full rewrite."""
        return [ratio for step in self.grown if (ratio := step.cost_ratio(self.target_bytes)) is not None]

    @property
    def byte_ratio(self) -> float:
        """Bytes written, of those of rewriting everything each time."""
        return self.byte_ratios()[-1]

    def byte_ratios(self) -> list[float]:
        """Tell the same after each step."""
        written = np.cumsum([step.written_bytes for step in self.grown])
        return [float(each) for each in written / np.cumsum([step.table_bytes for step in self.grown])]


@dataclass
class Figures:
    """All that was found.

    Parameters
    ----------
    bytes, steps : int
        About the size of each table before it grew, and how often it was to grow.
    environment : str
        Machine and versions.
    note : str
        What has changed since.
    histories : list of History
        In the order in which they ran.
    """

    bytes: int
    steps: int
    environment: str
    note: str = ""
    histories: list[History] = field(default_factory=list)

    def of(self, set_name: str, system: str) -> History | None:
        """Find a history."""
        return next((each for each in self.histories if (each.set, each.system) == (set_name, system)), None)

    def write(self, path: Path) -> None:
        """Write as JSON, so that a kill leaves the old or the new figures."""
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        unfinished.replace(path)

    @staticmethod
    def read(path: Path) -> Figures:
        """Read what :meth:`write` wrote."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        histories = [
            History(each["set"], each["system"], each["target_bytes"], [Step(**step) for step in each["steps"]])
            for each in raw["histories"]
        ]
        return Figures(raw["bytes"], raw["steps"], raw["environment"], raw.get("note", ""), histories)


def scan_fractions(files: Files, values: Values) -> dict[str, float]:
    """Measure which share of the bytes ``column = value`` reads, by the files' bounds, averaged over values.

    Parameters
    ----------
    files : Files
        The files.
    values : dict of str to ndarray of int64
        By column, the values that are looked for.

    Returns
    -------
    dict of str to float
        The share for each column.

    Examples
    --------
    >>> halves = Files({"a": 30, "b": 10}, {"x": np.array([0, 5])}, {"x": np.array([4, 9])})
    >>> scan_fractions(halves, {"x": np.array([1, 9])})
    {'x': 0.5}
    """
    sizes = np.array(list(files.sizes.values()), np.float64)
    return {name: _scan_fraction(each, files.lower[name], files.upper[name], sizes) for name, each in values.items()}


def _cost(share: float, size: int, files: int) -> float:
    """Tell what a filter costs that reads a share of files of one size."""
    return scan_cost(share * size, share * files, files, open_cost({}))


def _scan_fraction(
    values: npt.NDArray[np.int64],
    lower: npt.NDArray[np.int64],
    upper: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.float64],
) -> float:
    ordered = np.sort(values)
    met = np.searchsorted(ordered, upper, side="right") - np.searchsorted(ordered, lower, side="left")
    return float((met * sizes).sum() / len(ordered) / sizes.sum())


def largest_error(histories: Sequence[History]) -> float | None:
    """Tell how far predictions were off at most, where everything was really rewritten."""
    errors = [abs(error) for of in histories for step in of.steps if (error := step.prediction_error) is not None]
    return max(errors, default=None)
