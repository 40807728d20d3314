"""PyIceberg front end: rewrite a table without a JVM. Only this package imports PyIceberg.

rewrite_data_files  rewrites a :class:`pyiceberg.table.Table`
RewriteResult       what it did: Iceberg's five counts, and why nothing was done
"""

from iceberg_zorder.pyiceberg.rewrite import rewrite_data_files
from iceberg_zorder.request.result import RewriteResult

__all__ = ["RewriteResult", "rewrite_data_files"]
