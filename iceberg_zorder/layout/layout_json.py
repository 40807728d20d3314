"""The canonical JSON of a layout, and its hash.

``tree`` has the nodes of a box tree in preorder, a split as its column and start, a leaf as its number of files;
``boxes`` has for every leaf the lower and upper position of the first column, then of the second, and so on.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.box_tree import ADAPTIVE, BoxTree, Leaf, Split
from iceberg_zorder.layout.columns import ClusteringColumn, parse_name
from iceberg_zorder.layout.curve import HILBERT, MAX_HILBERT_COLUMNS, ZORDER, position_bits
from iceberg_zorder.layout.cuts import EVEN, EvenCuts
from iceberg_zorder.layout.keys import domain
from iceberg_zorder.layout.layout import Layout, LayoutColumn

VERSION = 1


def to_json(layout: Layout) -> str:
    """Write the canonical JSON: keys sorted, no spaces, integers and texts only.

    Parameters
    ----------
    layout : Layout
        The layout.

    Returns
    -------
    str
        The JSON, on one line.

    Examples
    --------
    >>> to_json(Layout((), 0, ("x",), 0, ZORDER, EvenCuts(())))
    '{"bits":0,"columns":[],"curve":"zorder","cuts":{"kind":"even","starts":[]},"left_out":["x"],"prefix":0,"version":1}'
    """
    return json.dumps(
        {
            "bits": layout.bits,
            "columns": [
                {
                    "boundaries": _boundaries_to_json(column.boundaries),
                    "name": column.column.name,
                    "positions": column.positions.tolist(),
                    "type": column.column.type,
                }
                for column in layout.columns
            ],
            "curve": layout.curve,
            "cuts": _cuts_to_json(layout.cuts),
            "left_out": list(layout.left_out),
            "prefix": layout.leading,
            "version": VERSION,
        },
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
    )


def layout_hash(layout: Layout) -> str:
    """SHA-256 of the canonical JSON in UTF-8, in lower-case hexadecimal digits.

    Parameters
    ----------
    layout : Layout
        The layout.

    Returns
    -------
    str
        64 digits.

    Examples
    --------
    >>> layout_hash(Layout((), 0, ("x",), 0, ZORDER, EvenCuts(())))[:8]
    'd0271cb8'
    """
    return hashlib.sha256(to_json(layout).encode()).hexdigest()


def from_json(text: str) -> Layout:
    """Read a layout back.

    Parameters
    ----------
    text : str
        What :func:`to_json` wrote.

    Returns
    -------
    Layout
        An equal layout; its columns' ordinals are their places among the active columns.

    Raises
    ------
    InvalidInputError
        When the text is not the JSON of a layout of this version.

    Examples
    --------
    >>> text = to_json(Layout((), 0, ("x",), 0, ZORDER, EvenCuts(())))
    >>> to_json(from_json(text)) == text
    True
    """
    try:
        raw = json.loads(text)
        bits = position_bits(len(raw["columns"]))
        _expect(raw, "version", VERSION)
        _expect(raw, "curve", ZORDER, HILBERT)
        _expect(raw["cuts"], "kind", EVEN, ADAPTIVE)
        _expect(raw, "bits", bits)
        _expect(raw, "prefix", *range(len(raw["columns"]) + 1))
        columns = tuple(_column_from_json(place, column, bits) for place, column in enumerate(raw["columns"]))
        cuts = _cuts_from_json(raw["cuts"], len(columns), bits)
        if raw["curve"] == HILBERT and len(columns) - raw["prefix"] > MAX_HILBERT_COLUMNS:
            raise InvalidInputError(
                f"Cannot read a layout, because a Hilbert curve has at most {MAX_HILBERT_COLUMNS} columns"
            )
        return Layout(columns, raw["prefix"], _texts(raw["left_out"]), bits, raw["curve"], cuts)
    except InvalidInputError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"Cannot read a layout, because it is not the JSON of one: {error!r}") from error


def _boundaries_to_json(boundaries: Boundaries) -> list[int] | list[str]:
    if isinstance(boundaries.keys, np.ndarray):
        integers: list[int] = boundaries.keys.tolist()
        return integers
    return [key.hex() for key in boundaries.keys.to_pylist()]


def _column_from_json(place: int, raw: dict[str, Any], bits: int) -> LayoutColumn:
    column = ClusteringColumn(parse_name(raw["name"]), raw["type"])
    what = f"the boundaries of column '{raw['name']}'"
    if domain(column.type) == "long":
        boundaries = Boundaries(_longs(_increasing(raw["boundaries"], what)))
    else:
        keys = _increasing([bytes.fromhex(key) for key in raw["boundaries"]], what)
        boundaries = Boundaries(pa.array(keys, pa.large_binary()))
    positions = _longs(raw["positions"])
    if len(positions) != boundaries.buckets or positions.min() < 0 or positions.max() >= 1 << bits:
        raise InvalidInputError(
            f"Cannot read a layout, because column '{raw['name']}' must have {boundaries.buckets} positions "
            f"in [0, {1 << bits})"
        )
    return LayoutColumn(place, column, boundaries, positions)


def _cuts_to_json(cuts: EvenCuts | BoxTree) -> dict[str, Any]:
    if isinstance(cuts, EvenCuts):
        return {"kind": EVEN, "starts": list(cuts.starts)}
    return {
        "boxes": [list(itertools.chain(*zip(leaf.lower, leaf.upper, strict=True))) for leaf in cuts.leaves],
        "kind": ADAPTIVE,
        "tree": [[node.column, node.start] if isinstance(node, Split) else node.files for node in cuts.nodes],
    }


def _cuts_from_json(raw: dict[str, Any], columns: int, bits: int) -> EvenCuts | BoxTree:
    if raw["kind"] == EVEN:
        return EvenCuts(tuple(_increasing(_longs(raw["starts"]).tolist(), "the starts of its files")))
    boxes = iter(raw["boxes"])
    nodes: list[Split | Leaf] = []
    missing = 1
    for node in raw["tree"]:
        if not missing:
            break
        if isinstance(node, list):
            column, start = _longs(node).tolist()
            if not (0 <= column < columns and 1 <= start < 1 << bits):
                raise InvalidInputError(f"Cannot read a layout, because it has no place for the split {node}")
            nodes.append(Split(column, start))
        else:
            nodes.append(_leaf_from_json(node, next(boxes, None), columns, bits))
        missing += 1 if isinstance(node, list) else -1
    if missing or len(nodes) != len(raw["tree"]) or next(boxes, None) is not None:
        raise InvalidInputError("Cannot read a layout, because its nodes and boxes are not one whole tree")
    return BoxTree(tuple(nodes))


def _leaf_from_json(files: int, box: list[int] | None, columns: int, bits: int) -> Leaf:
    edges = tuple(_longs([] if box is None else box).tolist())
    lower, upper = edges[::2], edges[1::2]
    inside = all(0 <= low <= high < 1 << bits for low, high in zip(lower, upper, strict=False))
    if box is None or len(edges) != 2 * columns or not inside or _longs([files])[0] < 1:
        raise InvalidInputError(f"Cannot read a layout, because {files} files in the box {box} are no leaf")
    return Leaf(files, lower, upper)


def _expect(raw: dict[str, Any], name: str, *values: int | str) -> None:
    # 1.0 and True are equal to 1 and would be written back differently.
    if not any(raw[name] == value and type(raw[name]) is type(value) for value in values):
        wanted = " or ".join(str(value) for value in values)
        raise InvalidInputError(f"Cannot read a layout, because '{name}' must be {wanted} and is '{raw[name]}'")


def _increasing(values: list[Any], what: str) -> list[Any]:
    if any(a >= b for a, b in itertools.pairwise(values)):
        raise InvalidInputError(f"Cannot read a layout, because {what} must strictly increase")
    return values


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("texts are expected")
    return tuple(values)


def _longs(values: list[Any]) -> npt.NDArray[np.int64]:
    """Make an array of integers; numpy alone would round other numbers silently."""
    if not all(type(value) is int for value in values):
        raise TypeError("integers are expected")
    return np.array(values, np.int64)
