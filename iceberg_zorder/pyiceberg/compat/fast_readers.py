"""Read records of Avro files in fewer steps than PyIceberg does, whose readers take most of the time of many files.

A tree of PyIceberg's readers is turned into functions within functions, which ask the decoder for the same bytes in the
same order; a reader that is not known here reads as it always does. When a release changes what the readers do, change
it here: the tests hold both to the same records.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from operator import methodcaller
from typing import Any

from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.reader import (
    BinaryReader,
    DoubleReader,
    IntegerReader,
    MapReader,
    NoneReader,
    OptionReader,
    Reader,
    StringReader,
    StructReader,
)
from pyiceberg.avro.resolver import EnumReader

Read = Callable[[BinaryDecoder], Any]

# By what reads it, for dates and times are read as integers are.
_CALLS: dict[Any, Read] = {
    IntegerReader.read: methodcaller("read_int"),
    StringReader.read: methodcaller("read_utf8"),
    BinaryReader.read: methodcaller("read_bytes"),
}
_DOUBLE = struct.Struct("<d")


def fast_read(reader: Reader) -> Read:
    """Make a function that reads what a reader reads, and doubles with all their digits, which the decoder rounds.

    Examples
    --------
    >>> from pyiceberg.avro.decoder import new_decoder
    >>> read = fast_read(OptionReader(MapReader(IntegerReader(), IntegerReader())))
    >>> read(new_decoder(bytes([2, 4, 2, 6, 4, 8, 0]))), read(new_decoder(bytes([0])))
    ({1: 3, 2: 4}, None)
    """
    if isinstance(reader, DoubleReader):
        return _double
    if isinstance(reader, OptionReader):
        return _option(fast_read(reader.option))
    if isinstance(reader, EnumReader):
        return _enum(reader.enum, fast_read(reader.reader))
    if isinstance(reader, StructReader):
        return _struct(reader)
    if isinstance(reader, MapReader) and type(reader.key).read is IntegerReader.read:
        if type(reader.value).read is IntegerReader.read:
            return _integers_by_integer
        if type(reader.value).read is BinaryReader.read:
            return _bytes_by_integer
    return _CALLS.get(type(reader).read, reader.read)


def _double(decoder: BinaryDecoder) -> float:
    return float(_DOUBLE.unpack(decoder.read(8))[0])


def _option(read: Read) -> Read:
    def option(decoder: BinaryDecoder) -> Any:
        return read(decoder) if decoder.read_int() > 0 else None

    return option


def _enum(kind: Callable[..., Any], read: Read) -> Read:
    # Looking a member up by its value takes longer than all else of it.
    members: dict[Any, Any] = {}

    def member(decoder: BinaryDecoder) -> Any:
        value = read(decoder)
        if value not in members:
            members[value] = kind(value)
        return members[value]

    return member


def _struct(reader: StructReader) -> Read:
    places = [place for place, _ in reader.field_readers if place is not None]
    size, create = 1 + max(places, default=-1), reader.create_struct
    # What is skipped goes to a place after the last.
    fields = [
        (size, each.skip) if place is None else (place, fast_read(each))
        for place, each in reader.field_readers
        if not isinstance(each, NoneReader)
    ]

    def record(decoder: BinaryDecoder) -> Any:
        values = [None] * (size + 1)
        for place, read in fields:
            values[place] = read(decoder)
        values.pop()
        return create(*values)

    return record


def _integers_by_integer(decoder: BinaryDecoder) -> dict[int, int]:
    found: dict[int, int] = {}
    while count := decoder.read_int():
        if count < 0:
            # The size of the block follows.
            count = -count
            decoder.skip_int()
        numbers = decoder.read_ints(2 * count)
        found.update(zip(numbers[::2], numbers[1::2], strict=True))
    return found


def _bytes_by_integer(decoder: BinaryDecoder) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while count := decoder.read_int():
        if count < 0:
            count = -count
            decoder.skip_int()
        decoder.read_int_bytes_dict(count, found)
    return found
