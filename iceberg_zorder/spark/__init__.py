"""PySpark front end: set up a session, and rewrite a table with ``strategy => 'zorder'``.

Only this package imports PySpark, which the extra ``spark`` installs.
Importing it starts no JVM.

    configure_spark     gives a session builder the plugin jar and the matching Iceberg runtime
    rewrite_data_files  issues ``CALL <catalog>.system.zorder_rewrite(...)``
    report              tells how well a table is clustered: Spark reads its metadata, this process measures it
    RewriteResult       what the CALL did: Iceberg's five counts, what filters read, and why nothing was done
    ColumnScan          what filters on one column read before and after
"""

try:
    import pyspark  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "pyspark":
        raise
    raise ModuleNotFoundError(
        "Cannot use iceberg_zorder.spark, because PySpark is not installed: pip install '.[spark]'",
        name="pyspark",
    ) from error

from iceberg_zorder.request.result import ColumnScan, RewriteResult
from iceberg_zorder.spark.clustering import report
from iceberg_zorder.spark.rewrite import rewrite_data_files
from iceberg_zorder.spark.session import configure_spark

__all__ = ["ColumnScan", "RewriteResult", "configure_spark", "report", "rewrite_data_files"]
