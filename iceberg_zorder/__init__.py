"""Lay out the data files of Iceberg tables as small boxes over several columns, so that engines skip most of them.

The stages, one way:

    columns -> sample -> boundaries -> positions -> layout (curve + cuts) -> rewrite (engine) -> commit -> report

Everything left of ``rewrite`` is plain numpy and knows no engine. ``iceberg_zorder.spark`` runs the rewrite on Spark;
``iceberg_zorder.pyiceberg`` reads catalogs and metadata. Importing this package imports neither.

``iceberg_zorder.advise`` is :func:`iceberg_zorder.pyiceberg.advise`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iceberg_zorder.pyiceberg import advise

__version__ = "0.1.0"

__all__ = ["__version__", "advise"]


def __getattr__(name: str) -> object:
    # Not above: importing the package starts no engine.
    if name == "advise":
        from iceberg_zorder.pyiceberg import advise

        return advise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
