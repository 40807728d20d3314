"""What the snapshot says of a rewrite, under ``zorder.`` keys: the same as the Spark engine writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from iceberg_zorder.layout.box_tree import ADAPTIVE, BoxTree
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.cuts import EVEN
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.layout_json import layout_hash
from iceberg_zorder.maintain.past_rewrites import SCAN_FRACTIONS
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.selection.target_size import TargetSize
from iceberg_zorder.report.history import COLUMNS, CUTS, DURATION, LAYOUT_HASH, TARGET


def snapshot_properties(order: RowOrder, layouts: Sequence[Layout], target: TargetSize) -> dict[str, str]:
    """Describe layouts for the summary of the snapshot that they were used for."""
    hashes = sorted(layout_hash(layout) for layout in layouts)
    is_plain = order.curve == ZORDER and not order.prefix
    return {
        COLUMNS: ",".join(column.name for column in order.columns) if is_plain else order.sort_order,
        CUTS: ADAPTIVE if isinstance(layouts[0].cuts, BoxTree) else EVEN,
        LAYOUT_HASH: hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
        TARGET: f"{target.size} {target.origin}",
    }


def commit_properties(
    scan_fractions: Mapping[str, float], predicted: Mapping[str, float], seconds: float
) -> dict[str, str]:
    """Describe one commit of a rewrite.

    Examples
    --------
    >>> commit_properties({"a": 0.125}, {"a": 0.12}, 1.5)
    {'zorder.scan-fractions': '{"a": {"predicted": 0.12, "actual": 0.125}}', 'zorder.rewrite-duration-ms': '1500'}
    """
    told = (("predicted", predicted), ("actual", scan_fractions))
    columns = dict.fromkeys((*predicted, *scan_fractions))
    fractions = {name: {key: round(of[name], 6) for key, of in told if name in of} for name in columns}
    return {SCAN_FRACTIONS: json.dumps(fractions), DURATION: str(round(1000 * seconds))}
