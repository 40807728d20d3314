"""Which columns of a Parquet file are worth a dictionary.

Arrow gives up a dictionary only once it is large; until then every value was looked up in it, and the file has it, and
the numbers of the values, too. So what it would hold is estimated before, as Iceberg's writer for Java does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SAMPLED = 8192
_LARGEST_SHARE = 0.75
"""Of the bytes of the values: a dictionary that saves less is not worth the time."""


def worth_a_dictionary(batches: Sequence[pa.RecordBatch], limit: int) -> list[str]:
    """Find the columns that are smaller with a dictionary, judging by some rows."""
    rows = sum(batch.num_rows for batch in batches)
    step = max(1, rows // _SAMPLED)
    found = []
    for place, field in enumerate(batches[0].schema):
        if pa.types.is_nested(field.type):
            found += [path for path, _ in leaves(field.name, field.type)]
        elif _pays([_every(batch.column(place), step) for batch in batches], rows, limit):
            found.append(field.name)
    return found


def compacted(batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Take out of dictionaries what no row has: Arrow writes all of them, and those of a file group are shared.

    Examples
    --------
    >>> shared = pa.array(["a", "b", "c", "d"])
    >>> rows = [pa.record_batch({"s": pa.DictionaryArray.from_arrays(each, shared)}) for each in ([3, 1], [1, None])]
    >>> [(batch["s"].dictionary.to_pylist(), batch["s"].to_pylist()) for batch in compacted(rows)]
    [(['b', 'd'], ['d', 'b']), (['b', 'd'], ['b', None])]
    """
    columns = [list(batch.columns) for batch in batches]
    for place in range(batches[0].num_columns):
        mine = [of for of in columns if pa.types.is_dictionary(of[place].type)]
        if mine:
            for of, small in zip(mine, _compacted([of[place] for of in mine]), strict=True):
                of[place] = small
    return [pa.RecordBatch.from_arrays(of, batch.schema.names) for of, batch in zip(columns, batches, strict=True)]


def _compacted(arrays: Sequence[pa.DictionaryArray]) -> list[pa.DictionaryArray]:
    shared = arrays[0].dictionary
    if not all(each.dictionary is shared or each.dictionary.equals(shared) for each in arrays):
        return list(arrays)
    is_used = np.zeros(len(shared), np.bool_)
    for each in arrays:
        is_used[each.indices.drop_null().to_numpy()] = True
    if is_used.all():
        return list(arrays)
    places = pa.array(np.cumsum(is_used) - 1, arrays[0].type.index_type)
    values = shared.take(pa.array(np.flatnonzero(is_used)))
    return [pa.DictionaryArray.from_arrays(places.take(each.indices), values) for each in arrays]


def _every(column: pa.Array, step: int) -> pa.Array:
    """Take every so-manieth value: of strings some batches may have a dictionary, and others none."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    taken = column if step == 1 else column.take(pa.array(np.arange(0, len(column), step)))
    return taken.dictionary_decode() if pa.types.is_dictionary(taken.type) else taken


def _pays(sampled: Sequence[pa.Array], rows: int, limit: int) -> bool:
    values = pa.chunked_array(sampled)
    width = _width(values)
    if width > limit:
        return False
    distinct = estimated_distinct(len(values), pc.count_distinct(values, mode="all").as_py(), rows)
    # Where long values come again and again, and short ones once, different values are shorter than those of rows.
    size = distinct * _width(pa.chunked_array([values.unique()]))
    return size <= limit and size + rows * math.log2(max(2, distinct)) / 8 <= _LARGEST_SHARE * rows * width


def estimated_distinct(sampled: int, distinct: int, rows: int) -> int:
    """Estimate how many different values some rows have, all of them about equally often."""
    if distinct == sampled:
        return rows
    low, high = float(distinct), float(sampled) * sampled
    while high - low > 1:
        middle = (low + high) / 2
        # So many of them are in the sample on average.
        low, high = (middle, high) if middle * -math.expm1(-sampled / middle) < distinct else (low, middle)
    return max(distinct, round(low * -math.expm1(-rows / low)))


def _width(values: pa.ChunkedArray) -> float:
    """Tell how many bytes a value has in a file."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return 4 if kind.precision <= 9 else 8 if kind.precision <= 18 else 16
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_primitive(kind):
        return max(1.0, float(kind.bit_width) / 8)
    return 4.0 + float(pc.mean(pc.binary_length(values)).as_py() or 0)


def leaves(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Name the columns that Parquet makes of one, with their types.

    Examples
    --------
    >>> list(leaves("a", pa.list_(pa.struct([("b", pa.int8())]))))
    [('a.list.element.b', DataType(int8))]
    """
    if pa.types.is_struct(kind):
        for field in kind:
            yield from leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(kind):
        yield from leaves(f"{path}.key_value.{kind.key_field.name}", kind.key_type)
        yield from leaves(f"{path}.key_value.{kind.item_field.name}", kind.item_type)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from leaves(f"{path}.list.element", kind.value_type)
    else:
        yield path, kind
