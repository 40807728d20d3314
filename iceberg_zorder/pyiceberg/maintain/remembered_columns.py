"""Find the columns of a table for which the policy names none."""

from __future__ import annotations

from dataclasses import replace

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.maintain.policy.settings import TableSettings
from iceberg_zorder.pyiceberg.plan.row_order import last_sort_order
from iceberg_zorder.pyiceberg.scan.history import snapshots_to
from iceberg_zorder.request.table_defaults import COLUMNS_PROPERTY

NO_COLUMNS = (
    f"nobody says by which columns: neither the policy (by), nor the table property {COLUMNS_PROPERTY}, nor a "
    "rewrite before this: iceberg-zorder advise tells which to name"
)
"""Why a table is not maintained."""


def with_remembered_columns(table: Table, settings: TableSettings) -> TableSettings:
    """Complete the settings of a table by the columns of its newest rewrite, where nobody names others.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pyiceberg.catalog.sql import SqlCatalog
    >>> directory = tempfile.TemporaryDirectory()
    >>> catalog = SqlCatalog("lake", uri=f"sqlite:///{directory.name}/catalog.db", warehouse=directory.name)
    >>> catalog.create_namespace("db")
    >>> table = catalog.create_table("db.events", pa.schema([("user_id", pa.int64())]))
    >>> with_remembered_columns(table, TableSettings()).disabled_because[:35]
    'nobody says by which columns: neith'
    >>> with_remembered_columns(table, TableSettings(by="user_id")).by
    'user_id'
    >>> catalog.close(); directory.cleanup()
    """
    if settings.by is not None or COLUMNS_PROPERTY in table.properties or not settings.enabled:
        return settings
    head = table.snapshot_by_name(settings.branch or MAIN_BRANCH)
    layout = next((each for each in reversed(snapshots_to(table, head)) if each.is_rewrite), None)
    if layout is None and settings.workload is not None and settings.workload.relayout == "auto":
        # Its queries choose them.
        return settings
    if layout is None:
        return replace(settings, enabled=False, disabled_because=NO_COLUMNS)
    return replace(settings, by=last_sort_order(table, layout, "maintain"))
