"""The table's properties of Parquet files, as pyarrow's writer takes them."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.compat.schemas import sanitize_column_names
from iceberg_zorder.pyiceberg.properties import whole_number

_LOG = logging.getLogger(__name__)
_PARQUET = "write.parquet."
_WITH_LEVELS = ("zstd", "gzip", "brotli")
# Older versions of pyarrow lack these.
_NEWER = ("max_rows_per_page", "bloom_filter_options")
_KNOWN = inspect.signature(pq.ParquetWriter.__init__).parameters


def row_group_size(table: Table) -> int:
    """Tell how many bytes a row group may have."""
    return _number(table.properties, "row-group-size-bytes", 128 * 1024 * 1024)


def row_group_limit(table: Table) -> int:
    """Tell how many rows a row group may have."""
    return _number(table.properties, "row-group-limit", 1_048_576)


def parquet_settings(table: Table) -> dict[str, Any]:
    """Read a table's properties of Parquet files, as arguments of pyarrow's writer."""
    properties = table.properties
    codec = properties.get(_PARQUET + "compression-codec", "zstd").lower()
    settings: dict[str, Any] = {
        "compression": "none" if codec == "uncompressed" else codec,
        "data_page_size": _number(properties, "page-size-bytes", 1024 * 1024),
        "dictionary_pagesize_limit": _number(properties, "dict-size-bytes", 2 * 1024 * 1024),
        "max_rows_per_page": _number(properties, "page-row-limit", 20_000),
        "write_page_index": True,
        "store_decimal_as_integer": True,
        # Readers are to see Iceberg's types, not Arrow's.
        "store_schema": False,
    }
    if settings["compression"] != "none" and not _is_codec(codec):
        raise InvalidInputError(
            f"Cannot set {_PARQUET}compression-codec to '{codec}', because pyarrow has no such codec"
        )
    if codec in _WITH_LEVELS and properties.get(_PARQUET + "compression-level"):
        settings["compression_level"] = _number(properties, "compression-level", 0, least=None)
    if blooms := _bloom_filters(table):
        settings["bloom_filter_options"] = blooms
        if "bloom_filter_options" not in _KNOWN:
            _LOG.warning("Writing no bloom filters: this version of pyarrow has none")
    return {name: value for name, value in settings.items() if name not in _NEWER or name in _KNOWN}


def _is_codec(name: str) -> bool:
    try:
        return bool(pa.Codec.is_available(name))
    except ValueError:
        return False


def _bloom_filters(table: Table) -> dict[str, dict[str, Any]]:
    """Size the bloom filters of columns so that none is larger than the table allows."""
    enabled = _PARQUET + "bloom-filter-enabled.column."
    bits = 8 * _number(table.properties, "bloom-filter-max-bytes", 1024 * 1024)
    found = {}
    for key, value in table.properties.items():
        if key.startswith(enabled) and value.lower() == "true":
            name = key[len(enabled) :]
            fpp = _share(table.properties, f"bloom-filter-fpp.column.{name}", "0.01")
            # Split block filters: the share of false positives is (1 - e^(-8 n / bits))^8.
            most = max(1, int(-bits * math.log(1 - fpp ** (1 / 8)) / 8))
            wanted = _number(table.properties, f"bloom-filter-ndv.column.{name}", most)
            found[_parquet_path(table, name)] = {"ndv": min(wanted, most), "fpp": fpp}
    return found


def _parquet_path(table: Table, name: str) -> str:
    try:
        field_id = table.schema().find_field(name).field_id
    except ValueError as error:
        raise InvalidInputError(
            f"Cannot write a bloom filter of column {name}, because the table has no such column"
        ) from error
    return sanitize_column_names(table.schema()).find_column_name(field_id) or name


def _number(properties: Mapping[str, str], name: str, default: int, *, least: int | None = 1) -> int:
    return whole_number(properties, _PARQUET + name, default, least=least)


def _share(properties: Mapping[str, str], name: str, default: str) -> float:
    text = properties.get(_PARQUET + name, default)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise InvalidInputError(f"Cannot use {_PARQUET}{name} = '{text}', because it must be a number in (0, 1)")
    return value
