"""The PySpark front: set up a session, and rewrite a table with ``strategy => 'zorder'``.

Only this package imports PySpark, which the extra ``spark`` installs. The import starts no JVM.
"""

try:
    import pyspark  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "pyspark":
        raise
    raise ModuleNotFoundError(
        "Cannot use iceberg_zorder.spark, because PySpark is not installed: pip install '.[spark]' in a clone",
        name="pyspark",
    ) from error

from iceberg_zorder.rewrite.append_result import AppendResult
from iceberg_zorder.rewrite.result import ColumnScan, RewriteResult
from iceberg_zorder.spark.append import append
from iceberg_zorder.spark.clustering import report
from iceberg_zorder.spark.rewrite import rewrite_data_files
from iceberg_zorder.spark.session import configure_spark

__all__ = ["AppendResult", "ColumnScan", "RewriteResult", "append", "configure_spark", "report", "rewrite_data_files"]
