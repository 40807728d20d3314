"""What the snapshot says of a rewrite, under ``zorder.`` keys: the same as the Spark engine writes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from iceberg_zorder import __version__
from iceberg_zorder.layout.box_tree import ADAPTIVE, BoxTree
from iceberg_zorder.layout.cuts import EVEN
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.layout_json import layout_hash
from iceberg_zorder.maintain.past_rewrites import ACTUAL, PREDICTED
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.selection.target_size import ORIGIN_KEY, SUMMARY_KEY, TargetSize
from iceberg_zorder.upkeep.settled import WORKLOAD


def snapshot_properties(
    order: RowOrder, layouts: Sequence[Layout], target: TargetSize, workload: str | None = None
) -> dict[str, str]:
    """Describe layouts for the summary of the snapshot that they were used for."""
    hashes = sorted(layout_hash(layout) for layout in layouts)
    properties = {
        "zorder.columns": order.names(","),
        "zorder.curve": order.curve,
        "zorder.cuts": ADAPTIVE if isinstance(layouts[0].cuts, BoxTree) else EVEN,
        "zorder.layout-hash": hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
        "zorder.version": __version__,
        SUMMARY_KEY: str(target.size),
        ORIGIN_KEY: target.origin,
    }
    if order.prefix:
        properties["zorder.prefix"] = order.prefix_text
    return properties if workload is None else {**properties, WORKLOAD: workload}


def commit_properties(
    scan_fractions: Mapping[str, float], predicted: Mapping[str, float], seconds: float
) -> dict[str, str]:
    """Describe one commit of a rewrite.

    Examples
    --------
    >>> commit_properties({"a": 0.125}, {"a": 0.12}, 1.5)
    {'zorder.scan-fraction.a': '0.125', 'zorder.predicted-scan-fraction.a': '0.12', \
'zorder.rewrite-duration-ms': '1500'}
    """
    told = ((ACTUAL, scan_fractions), (PREDICTED, predicted))
    fractions = {f"{key}{name}": _decimal(each) for key, of in told for name, each in of.items()}
    return {**fractions, "zorder.rewrite-duration-ms": str(round(1000 * seconds))}


def _decimal(fraction: float) -> str:
    return f"{fraction:.6f}".rstrip("0").rstrip(".")
