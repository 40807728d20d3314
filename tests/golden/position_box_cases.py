"""The golden file of boxes over keys: those over the positions of a layout, what two share, and fewer that cover them.

An edge is a list of its state and maybe a key, bytes as hexadecimal digits; a box is a list of names, with two edges each.
"""

import random
from itertools import pairwise
from typing import Any

from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import VALUE
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.workload import boxes as bx
from tests.golden.cases import Column

VALUES: dict[str, list[Any]] = {
    "long": [*range(-20, 20), -(2**63), 2**63 - 1, None],
    "double": ["-Infinity", "-1.5", "-0.0", "0.0", "1.5", "2.5", "Infinity", "NaN", "NaN", None],
    "boolean": [True, False, None],
    "string": ["", "a", "a\0", "a\0\0", "aa", "b", "\u00e9", "\uffee", "\U0001f600", None],
    "binary": ["", "00", "0000", "7f", "80", "8000", "ff", "ffff", None],
    "decimal(38, 0)": ["-5", "-1", "0", "1", "99999999999999999999", None],
}
"""Values by type."""


def random_box(chance: random.Random, columns: tuple[Column, ...]) -> bx.Box:
    """Limit some columns by ranges between their values."""
    limited = [column for column in columns if chance.random() < 0.6]
    return bx.Box.of({column.name: _range(chance, column) for column in limited})


def _range(chance: random.Random, column: Column) -> bx.KeyRange:
    if chance.random() < 0.2:
        return chance.choice([bx.NANS, bx.NULLS, bx.NOT_NULL, bx.EVERYTHING, *bx.NOT_NAN])
    while True:
        start, stop = (_edge(chance, column) for _ in range(2))
        if start < stop:
            return bx.KeyRange(start, stop)


def _edge(chance: random.Random, column: Column) -> bx.Edge:
    keys = column.keys()
    place = chance.randrange(keys.rows)
    if keys.states[place] != VALUE or chance.random() < 0.2:
        return chance.choice([bx.NOT_NULL.start, bx.NANS.start, bx.NULLS.start, bx.NULLS.stop])
    key = keys.keys[place]
    if not isinstance(key, int) and hasattr(key, "as_py"):
        content: bytes = key.as_py()
        return VALUE, content + b"\0" * chance.randrange(3)
    return VALUE, max(-(2**63), min(2**63 - 1, int(key) + chance.randrange(-1, 2)))


def position_boxes_of(golden: dict[str, Any]) -> dict[str, Any]:
    """A sample and boxes over keys: their positions, what neighbours share, and fewer that cover them."""
    columns = [Column.from_golden(each) for each in golden["columns"]]
    boxes = [_box_from_json(each) for each in golden["boxes"]]
    sample = Sample(tuple(column.keys() for column in columns))
    leading = tuple((descending, nulls_first) for descending, nulls_first in golden["leading"])
    request = LayoutRequest(4, leading_orders=leading, boundaries=golden["boundaries"])
    layout = fit([column.clustering_column() for column in columns], sample, request)
    shared = [one.met(other) for one, other in pairwise(boxes)]
    return {
        **golden,
        "positions": bx.position_boxes(boxes, layout.columns).transpose(1, 0, 2).tolist(),
        "shared": [None if each is None else box_as_json(each) for each in shared],
        "covers": [[box_as_json(box) for box in bx.cover(boxes, most)] for most in (1, 2, 7, 64)],
    }


def box_as_json(box: bx.Box) -> list[Any]:
    """Write a box."""
    return [[list(name), _edge_as_json(each.start), _edge_as_json(each.stop)] for name, each in box.ranges]


def _edge_as_json(edge: bx.Edge) -> list[int | str]:
    return [each.hex() if isinstance(each, bytes) else each for each in edge]


def _box_from_json(ranges: list[Any]) -> bx.Box:
    return bx.Box.of(
        {tuple(name): bx.KeyRange(_edge_from_json(start), _edge_from_json(stop)) for name, start, stop in ranges}
    )


def _edge_from_json(edge: list[Any]) -> bx.Edge:
    if len(edge) == 1:
        return (edge[0],)
    return edge[0], bytes.fromhex(edge[1]) if isinstance(edge[1], str) else edge[1]
