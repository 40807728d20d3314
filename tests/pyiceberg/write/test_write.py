"""The table's properties of Parquet files are honoured, and bounds enclose what they stand for."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.types import BinaryType, StringType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.write.file_metrics import _incremented, _truncated
from iceberg_zorder.pyiceberg.write.file_writer import parquet_settings
from tests.pyiceberg.lake import rewrite

SCHEMA = pa.schema([("a", pa.int64()), ("s", pa.string()), ("t", pa.struct([("b", pa.binary())]))])


def made(catalog: SqlCatalog, properties: dict[str, str], text: str = "x") -> Table:
    table = catalog.create_table("db.t", SCHEMA)
    table.append(
        pa.table(
            {"a": range(1000), "s": [f"{text}{i}" for i in range(1000)], "t": [{"b": b"\xff" * 20}] * 1000}, SCHEMA
        )
    )
    # PyIceberg's own writer warns of some of them.
    with table.transaction() as change:
        change.set_properties(properties)
    return table


def test_properties_are_honoured(catalog: SqlCatalog) -> None:
    table = made(
        catalog,
        {
            "write.parquet.compression-codec": "gzip",
            "write.parquet.compression-level": "1",
            "write.parquet.page-size-bytes": "1000",
            "write.parquet.page-row-limit": "50",
            "write.parquet.dict-size-bytes": "100",
            "write.parquet.bloom-filter-enabled.column.a": "true",
            "write.metadata.metrics.default": "counts",
            "write.metadata.metrics.column.a": "full",
            "write.metadata.metrics.column.s": "none",
            "write.data.path": f"{catalog.properties['warehouse']}/elsewhere",
        },
    )
    settings = parquet_settings(table)
    assert (settings["data_page_size"], settings["max_rows_per_page"]) == (1000, 50)
    assert (settings["dictionary_pagesize_limit"], settings["compression_level"]) == (100, 1)
    assert settings["bloom_filter_options"]["a"]["fpp"] == 0.01
    done = rewrite(table, "a")
    (file,) = done.files
    assert "/elsewhere/" in file.file_path
    chunk = pq.ParquetFile(done.paths[0]).metadata.row_group(0).column(0)
    assert chunk.compression == "GZIP"
    assert chunk.has_column_index
    assert chunk.has_offset_index
    assert set(file.lower_bounds) == {1}
    assert set(file.value_counts) == {1, 4}
    assert set(file.column_sizes) == {1, 4}


@pytest.mark.parametrize(("name", "value"), [("compression-codec", "lzo"), ("page-size-bytes", "big")])
def test_properties_without_meaning_are_refused(catalog: SqlCatalog, name: str, value: str) -> None:
    table = made(catalog, {})
    with table.transaction() as change:
        change.set_properties({f"write.parquet.{name}": value})
    with pytest.raises(InvalidInputError, match=rf"write\.parquet\.{name}.*'{value}'"):
        rewrite(table, "a")


def test_bounds_of_long_strings_are_kept_though_parquet_has_none(catalog: SqlCatalog) -> None:
    table = made(catalog, {}, text="long " * 1000)
    (file,) = rewrite(table, "a").files
    assert (file.lower_bounds[2], file.upper_bounds[2]) == (b"long long long l", b"long long long m")
    # No byte can be made larger, so there is no upper bound.
    assert file.lower_bounds[4] == b"\xff" * 16
    assert 4 not in file.upper_bounds


@given(text=st.text(max_size=12), length=st.integers(1, 6))
def test_bounds_of_text_enclose_it(text: str, length: int) -> None:
    encoded = text.encode()
    upper = _incremented(encoded, length, StringType())
    assert _truncated(encoded, length, StringType()) <= encoded
    assert upper is None or upper >= encoded
    assert upper is None or len(upper.decode()) <= length
    assert upper is not None or text.startswith("\U0010ffff" * length)


@given(value=st.binary(max_size=12), length=st.integers(1, 6))
def test_bounds_of_bytes_enclose_them(value: bytes, length: int) -> None:
    upper = _incremented(value, length, BinaryType())
    assert _truncated(value, length, BinaryType()) <= value
    assert upper is None or upper >= value
    assert upper is not None or value.startswith(b"\xff" * length)
