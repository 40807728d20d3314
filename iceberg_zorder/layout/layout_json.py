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

from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.box_tree import ADAPTIVE, BoxTree, Split
from iceberg_zorder.layout.cuts import EVEN, EvenCuts
from iceberg_zorder.layout.layout import Layout

VERSION = 1


def to_json(layout: Layout) -> str:
    """Write the canonical JSON: keys sorted, no spaces, integers and texts only.

    Examples
    --------
    >>> to_json(Layout((), 0, ("x",), 0, "zorder", EvenCuts(())))
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
    """SHA-256 of the canonical JSON in UTF-8, as 64 lower-case hexadecimal digits.

    Examples
    --------
    >>> layout_hash(Layout((), 0, ("x",), 0, "zorder", EvenCuts(())))[:8]
    'd0271cb8'
    """
    return hashlib.sha256(to_json(layout).encode()).hexdigest()


def _boundaries_to_json(boundaries: Boundaries) -> list[int] | list[str]:
    if isinstance(boundaries.keys, np.ndarray):
        integers: list[int] = boundaries.keys.tolist()
        return integers
    return [key.hex() for key in boundaries.keys.to_pylist()]


def _cuts_to_json(cuts: EvenCuts | BoxTree) -> dict[str, Any]:
    if isinstance(cuts, EvenCuts):
        return {"kind": EVEN, "starts": list(cuts.starts)}
    return {
        "boxes": [list(itertools.chain(*zip(leaf.lower, leaf.upper, strict=True))) for leaf in cuts.leaves],
        "kind": ADAPTIVE,
        "tree": [[node.column, node.start] if isinstance(node, Split) else node.files for node in cuts.nodes],
    }
