"""What the snapshot says of a rewrite, under ``zorder.`` keys: the same as the Spark engine writes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from iceberg_zorder import __version__
from iceberg_zorder.layout.box_tree import ADAPTIVE, BoxTree
from iceberg_zorder.layout.cuts import EVEN
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.layout_json import layout_hash
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder


def snapshot_properties(order: RowOrder, layouts: Sequence[Layout]) -> dict[str, str]:
    """Describe layouts for the summary of the snapshot that they were used for.

    Parameters
    ----------
    order : RowOrder
        The columns that the layouts were fitted to.
    layouts : sequence of Layout
        The layout of every file group, at least one.

    Returns
    -------
    dict of str to str
        Columns, curves, cuts, hash and version; and the prefix, where there is one. The hash of several layouts is the
        SHA-256 of their own hashes, sorted, one a line.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.layout.fit import LayoutRequest, fit
    >>> from iceberg_zorder.layout.sample import Sample
    >>> column = ClusteringColumn(("a",), "long")
    >>> layout = fit([column], Sample((encode(pa.array(range(8)), "long"),)), LayoutRequest(files=2))
    >>> order = RowOrder((), (), (column,), (1.0,), "zorder", (1,))
    >>> properties = snapshot_properties(order, [layout])
    >>> properties["zorder.columns"], properties["zorder.cuts"], len(properties["zorder.layout-hash"])
    ('a', 'adaptive', 64)
    """
    hashes = sorted(layout_hash(layout) for layout in layouts)
    properties = {
        "zorder.columns": order.names(","),
        "zorder.curve": ",".join(sorted({layout.curve for layout in layouts})),
        "zorder.cuts": ADAPTIVE if isinstance(layouts[0].cuts, BoxTree) else EVEN,
        "zorder.layout-hash": hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
        "zorder.version": __version__,
    }
    return {**properties, "zorder.prefix": order.prefix_text} if order.prefix else properties
