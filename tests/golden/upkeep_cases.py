"""Golden cases of upkeep: the data files of a partition as plain JSON values, and which of them are rewritten."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.keys import Beginning
from iceberg_zorder.metrics.data_files import DataFiles
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.select.branch_history import NO_CAP
from iceberg_zorder.select.gain import Choice, UpkeepRequest, choose
from tests.golden.cases import golden
from tests.golden.report_cases import BoundsOf, layout_document, layout_of

REPORTS = (
    "one_file", "many_partitions", "hostile", "extremes", "deep", "without_bounds", "alike", "endless", "relaid", "prefix",
    "compacted_later", "first_layer_compacted",
)  # fmt: skip


@dataclass(frozen=True)
class UpkeepCase:
    """A partition. Of texts, bounds keep so many characters (or bytes), or all."""

    name: str
    columns: tuple[BoundsOf, ...]
    rows: list[int]
    sizes: list[int]
    called_for: list[int]
    target: int
    spread: int
    weights: list[float]
    kept: list[int | None]
    layout: LayoutRequest = LayoutRequest(1)  # noqa: RUF009
    max_scan_ratio: float = 1.2
    due: tuple[int, ...] = ()
    budget: int = NO_CAP

    def files(self) -> DataFiles:
        """The files."""
        rows, sizes = np.array(self.rows, np.int64), np.array(self.sizes, np.int64)
        return DataFiles(np.zeros(len(rows), np.int64), rows, sizes, tuple(column.bounds() for column in self.columns))

    def request(self) -> UpkeepRequest:
        """How they are chosen."""
        pairs = zip(self.kept, self.columns, strict=True)
        kept = [None if length is None else Beginning(length, of.type == "string") for length, of in pairs]
        judged = self.weights, self.open_cost
        return UpkeepRequest(
            self.max_scan_ratio,
            self.spare_files,
            FileSizes(self.target, 0, 2 * self.target),
            self.layout,
            kept,
            *judged,
        )

    @property
    def open_cost(self) -> int:
        """What opening a file costs, in bytes."""
        return self.target // 10

    @property
    def spare_files(self) -> int:
        """How many files more may be opened than after a rewrite of everything."""
        return 4 if self.called_for else 0

    def choice(self) -> Choice:
        """What is chosen."""
        return choose(self.files(), *self.flags(), self.budget, self.spread, self.request())

    def flags(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Which files sizes call for, and which are due."""
        every = np.arange(len(self.rows))
        return np.isin(every, self.called_for), np.isin(every, self.due)


def partition_document(case: UpkeepCase) -> dict[str, Any]:
    """A partition."""
    return {
        "name": case.name,
        "columns": [
            {"name": list(c.name), "type": c.type, "lower": c.lower, "upper": c.upper, "valued": c.valued}
            for c in case.columns
        ],
        "rows": case.rows,
        "sizes": case.sizes,
        "called_for": case.called_for,
        "target": case.target,
        "spread": case.spread,
        "weights": case.weights,
        "kept": case.kept,
        "layout": layout_document(case.layout),
        "max_scan_ratio": case.max_scan_ratio,
        "spare_files": case.spare_files,
        "open_cost": case.open_cost,
    }


def choice_document(choice: Choice) -> dict[str, Any]:
    """What must come of a case."""
    return {
        "files": choice.files.tolist(),
        "today": choice.today,
        "expected": choice.expected,
        "attainable": choice.attainable,
        "is_within": choice.is_within,
        "uses_smaller_target": choice.uses_smaller_target,
        "extents": choice.extents,
    }


def upkeep_document(case: UpkeepCase) -> dict[str, Any]:
    """A case, and what must come of it."""
    choice = case.choice()
    return {
        **partition_document(case),
        "due": list(case.due),
        "budget": case.budget,
        "expected": choice_document(choice),
    }


def upkeep_cases() -> list[UpkeepCase]:
    """Every case."""
    return [*_grids(), *_undersized(), *_of_reports(), *_urls(), *_open(), *_capped()]


def _grids() -> Iterator[UpkeepCase]:
    """A base of disjoint boxes, and appends that lie across it, beside it, or on a part of it."""
    for name, tail in (("spanning", (0, 0, 800, 800)), ("beside", (0, 800, 800, 900)), ("late", (100, 100, 300, 300))):
        for files in (1, 3, 8, 16):
            draw = random.Random(f"{name}{files}")
            boxes = [(x, y, x + 99, y + 99) for x in range(0, 800, 100) for y in range(0, 800, 100)]
            left, low, right, high = tail
            for _ in range(files):
                start = draw.randrange(left, left + 50), draw.randrange(low, low + 50)
                boxes.append((*start, draw.randrange(right - 50, right), draw.randrange(high - 50, high)))
            x, y, u, v = (list(each) for each in zip(*boxes, strict=True))
            ones, count = [1.0] * len(boxes), len(boxes)
            columns = (BoundsOf(("x",), "long", x, u, ones), BoundsOf(("y",), "int", y, v, ones))
            called = list(range(64, count)) if files == 3 else []
            for spread in (700, 6_000):
                yield UpkeepCase(
                    f"{name} {files} {spread}", columns, [1_000] * count, [100_000] * count, called, 100_000, spread,
                    [1.0, 3.0] if files == 8 else [1.0, 1.0], [None, None],
                    LayoutRequest(1, cuts="even") if files == 16 else LayoutRequest(1),
                    due=tuple(called[:2]) if spread == 700 else (),
                )  # fmt: skip


def _undersized() -> Iterator[UpkeepCase]:
    """A layout with some smaller files, which lie far apart, and appends that lie across it: those alone are worth it."""
    small = (0, 7, 18, 21, 27, 36, 42, 45, 56, 63)
    for appends in (0, 2, 4, 12):
        lower = [[place % 8 * 1_000 for place in range(64)], [place // 8 * 1_000 for place in range(64)]]
        upper = [[each + 999 for each in of] for of in lower]
        for of, value in ((lower[0], 0), (lower[1], 0), (upper[0], 7_999), (upper[1], 7_999)):
            of += [value] * appends
        sizes = [740 if place in small else 320 if place >= 64 else 1_000 for place in range(64 + appends)]
        ones = [1.0] * len(sizes)
        columns = (
            BoundsOf(("a",), "long", lower[0], upper[0], ones),
            BoundsOf(("b",), "long", lower[1], upper[1], ones),
        )
        called = [place for place, size in enumerate(sizes) if size < 750]
        for due in ((), (7, 63 + min(appends, 1))):
            yield UpkeepCase(
                f"undersized {appends} {len(due)}", columns, sizes, sizes, called, 1_000, 6_000, [1.0, 1.0],
                [None, None], due=due,
            )  # fmt: skip


def _of_reports() -> Iterator[UpkeepCase]:
    """The partitions of reports, with every kind of bounds."""
    for name in REPORTS:
        report = golden(f"report_{name}")
        places = [place for place, number in enumerate(report["partitions"]) if number == 0]
        of_partition = {key: _at(places, report[key]) for key in ("rows", "sizes")}
        bounds = [
            {**each, **{key: _at(places, each[key]) for key in ("lower", "upper", "valued")}}
            for each in report["columns"]
        ]
        columns = tuple(BoundsOf.from_golden(each) for each in bounds)
        for ratio in (1.0, 1.2):
            yield UpkeepCase(
                f"report_{name} {ratio}", columns, of_partition["rows"], of_partition["sizes"], [], report["target"], 2_000,
                [1.0] * len(columns), [None] * len(columns), layout_of(report["layout"]), ratio,
            )  # fmt: skip


def _at(places: list[int], values: list[Any]) -> list[Any]:
    return [values[place] for place in places]


def _urls() -> Iterator[UpkeepCase]:
    """Texts whose bounds are cut: what they do not tell apart gains nothing."""
    lower = [f"https://example.com/{number:04d}" for number in range(0, 400, 10)] * 2
    upper = [f"https://example.com/{number + 200:04d}" for number in range(0, 400, 10)] * 2
    columns = (
        BoundsOf(("url",), "string", lower, upper, [1.0] * 80),
        BoundsOf(("b",), "binary", ["00"] * 80, ["ffff"] * 80, [0.5] * 80),
    )
    for kept in (16, 22, None):
        yield UpkeepCase(
            f"urls {kept}", columns, [100] * 80, [1_000] * 80, [], 2_000, 4_000, [1.0, 0.0], [kept, kept and 1]
        )


def _open() -> Iterator[UpkeepCase]:
    """Columns of which no file has bounds, or half of the files have none, beside one by which the files are laid out."""
    draw, count = random.Random("open"), 40
    starts = [1_000 * file for file in range(count)]
    laid_out = BoundsOf(("y",), "long", starts, [start + 999 for start in starts], [1.0] * count)
    spanning = BoundsOf(("y",), "long", [0] * count, [1_000 * count] * count, [1.0] * count)
    none, names = [None] * count, [f"{draw.randrange(10_000):04d}" for _ in range(count)]
    half = [name if file % 2 else None for file, name in enumerate(names)]
    some = [(0.0, 0.4, 1.0)[file % 3] for file in range(count)]
    opens = {
        "unknown": BoundsOf(("x",), "string", none, none, [1.0] * count),
        "counted": BoundsOf(("x",), "string", none, none, some),
        "lower only": BoundsOf(("x",), "string", names, none, [1.0] * count),
        "half": BoundsOf(("x",), "string", half, [name and name + "z" for name in half], [1.0] * count),
        "valueless": BoundsOf(("x",), "string", none, none, [0.0] * count),
    }
    nothing = BoundsOf(("y",), "decimal(9, 2)", none, none, [1.0] * count)
    for name, column in opens.items():
        for beside, weights, spread in (
            (laid_out, [1.0, 1.0], 8_000),
            (spanning, [1.0, 3.0], 700),
            (nothing, [2.0, 1.0], 8_000),
            (laid_out, [0.0, 1.0], 8_000),
            (spanning, [0.0, 1.0], 8_000),
            (nothing, [0.0, 0.0], 8_000),
        ):
            called = list(range(6)) if spread == 700 else []
            yield UpkeepCase(
                f"open {name} {beside.type} {beside.lower[1]} {weights}", (column, beside), [1_000] * count,
                [100_000] * count, called, 100_000, spread, weights, [2, None], due=tuple(called[:1]),
            )  # fmt: skip


def _capped() -> Iterator[UpkeepCase]:
    """A base, appends that lie across it, and budgets that allow none, some, or all of them."""
    draw = random.Random("ours")
    # A column that no layout cuts, as one value has most rows of it: each file spans it.
    slabs = [(0, y, 6_399, y + 99) for y in range(0, 6_400, 100)]
    # A column that follows another: boxes on a diagonal.
    diagonal = [(x, x, x + 99, x + 99) for x in range(0, 6_400, 100)]
    grid = [(x, y, x + 799, y + 799) for x in range(0, 6_400, 800) for y in range(0, 6_400, 800)]
    every = (0, 0, 6_399, 6_399)
    for name, boxes in (("slabs", slabs), ("diagonal", diagonal), ("grid", grid)):
        for appends in (1, 4, 12):
            for budget in (0, 2_000_000, 10**9):
                count = len(boxes) + appends
                columns = _columns(
                    [*boxes, *[every] * appends],
                    draw.randrange(64) if budget else count - 1,
                    is_text=budget == 2_000_000,
                )
                yield UpkeepCase(
                    f"capped {name} {appends} {budget}", columns, [1_000] * count,
                    [draw.randrange(80_000, 120_000) for _ in range(count)], [64] if appends == 4 else [], 100_000,
                    [700, 8_000][appends % 2], [1.0, 2.0] if budget == 2_000_000 else [1.0, 1.0], [None, None],
                    budget=budget,
                )  # fmt: skip


def _columns(boxes: list[tuple[int, int, int, int]], place: int, *, is_text: bool) -> tuple[BoundsOf, BoundsOf]:
    """Bounds of boxes, of which some files have rows without values, and one has no bounds of the second column."""
    x, y, u, v = (list(each) for each in zip(*boxes, strict=True))
    valued = [0.5 if place % 60 == 63 % 60 else 1.0 for place in range(len(boxes))]
    lower, upper = ([f"{each:05d}" for each in of] if is_text else of for of in (y, v))
    first, second = ([*lower[:place], None, *lower[place + 1 :]], [*upper[:place], None, *upper[place + 1 :]])
    return (
        BoundsOf(("x",), "long", x, u, valued),
        BoundsOf(("y",), "string" if is_text else "long", first, second, [1.0] * len(boxes)),
    )
