"""Where a table is found: copies of its metadata, in other catalogs or by other names, share its files."""

from __future__ import annotations

import hashlib
from urllib.parse import urlsplit

from pyiceberg.table import Table

_WHERE = ("type", "warehouse", "prefix", "glue.id", "glue.region", "client.region")


def table_address(table: Table) -> str:
    """Write in short by which name, in which catalog and at which address of that a table was loaded.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pyiceberg.catalog.sql import SqlCatalog
    >>> directory = tempfile.TemporaryDirectory()
    >>> catalog = SqlCatalog("lake", uri=f"sqlite:///{directory.name}/catalog.db", warehouse=directory.name)
    >>> catalog.create_namespace("db")
    >>> table = catalog.create_table("db.t", pa.schema([("x", pa.int64())]))
    >>> copied = catalog.register_table("db.copy", table.metadata_location)
    >>> table_address(catalog.load_table("db.t")) == table_address(table), table_address(copied) == table_address(table)
    (True, False)
    >>> catalog.close(); directory.cleanup()
    """
    catalog = table.catalog
    uri = urlsplit(catalog.properties.get("uri", ""))
    host = uri.netloc.rpartition("@")[2]
    known = [catalog.name, *table.name(), host, uri.path, *(catalog.properties.get(key, "") for key in _WHERE)]
    return hashlib.sha256("\0".join(known).encode()).hexdigest()[:8]
