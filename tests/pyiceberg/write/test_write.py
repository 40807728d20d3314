"""The table's properties of Parquet files are honoured, and bounds enclose what they stand for."""

import struct

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
    table.transaction().set_properties(properties).commit_transaction()
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
    table.transaction().set_properties({f"write.parquet.{name}": value}).commit_transaction()
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


def test_a_row_group_of_nan_leaves_the_bounds_of_the_others(catalog: SqlCatalog) -> None:
    properties = {"write.parquet.row-group-limit": "500"}
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("f", pa.float64())]), properties=properties)
    table.append(pa.table({"id": range(1_000), "f": [float("nan") if i < 500 else float(i) for i in range(1_000)]}))
    done = rewrite(table, "id")
    (file,) = done.files
    assert pq.ParquetFile(done.paths[0]).num_row_groups == 2
    assert [struct.unpack("<d", bounds[2])[0] for bounds in (file.lower_bounds, file.upper_bounds)] == [500.0, 999.0]
    assert file.nan_value_counts[2] == 500


def test_bloom_filters_take_the_bytes_that_the_table_allows(catalog: SqlCatalog) -> None:
    properties = {
        "write.parquet.bloom-filter-enabled.column.id": "true",
        "write.parquet.bloom-filter-max-bytes": "4096",
    }
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    table.transaction().set_properties(properties).commit_transaction()
    # A split block filter of n values is wrong for 1 in 100 at 9.68 bits a value.
    assert parquet_settings(table)["bloom_filter_options"]["id"]["ndv"] == pytest.approx(4096 * 8 / 9.68, rel=0.01)
