"""Lay out the data files of Iceberg tables as small boxes over several columns, so that engines skip most of them.

The stages, one way:

    columns -> sample -> boundaries -> positions -> layout (curve + cuts) -> rewrite (engine) -> commit -> report

Everything left of ``rewrite`` is plain numpy and knows no engine. ``iceberg_zorder.spark`` runs the rewrite on Spark;
``iceberg_zorder.pyiceberg`` reads catalogs and metadata. Importing this package imports neither.
"""

__version__ = "0.1.0"
