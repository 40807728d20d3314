"""Iceberg's types and plain Python values of them: the part of the specification that all other modules here use.

A value is None, bool, int, float, Decimal, str, bytes, or a tuple: of a struct's fields, a list's elements, a map's
pairs. Dates are days, times and timestamps microseconds (a Fraction where a file holds finer ones), UUIDs 16 bytes.
Text that is not UTF-8 has its bytes escaped, as Python's ``surrogateescape`` does.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import pyarrow as pa

from tests.golden.cases import ARROW

FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class Field:
    """A column, a field of a struct, the element of a list, the key or the value of a map."""

    id: int
    name: str
    type: Type
    required: bool = False
    default: Any = None  # what rows written before the column was added have


@dataclass(frozen=True)
class Struct:
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class List:
    element: Field


@dataclass(frozen=True)
class Map:
    key: Field
    value: Field


Type: TypeAlias = "str | Struct | List | Map"


def parse(schema: dict[str, Any]) -> Struct:
    """Read a schema as table metadata has it."""
    parsed = _parse_type(schema)
    assert isinstance(parsed, Struct)
    return parsed


def _parse_type(of: Any) -> Type:
    if isinstance(of, str):
        return of.replace(" ", "")
    if of["type"] == "struct":
        return Struct(tuple(_parse_field(each) for each in of["fields"]))
    if of["type"] == "list":
        return List(Field(of["element-id"], "element", _parse_type(of["element"]), of["element-required"]))
    return Map(
        Field(of["key-id"], "key", _parse_type(of["key"]), True),
        Field(of["value-id"], "value", _parse_type(of["value"]), of["value-required"]),
    )


def _parse_field(field: dict[str, Any]) -> Field:
    kind = _parse_type(field["type"])
    default = field.get("initial-default")
    return Field(field["id"], field["name"], kind, field["required"], default)


def to_json(of: Type) -> Any:
    """Write a type as table metadata has it."""
    if isinstance(of, str):
        return of
    if isinstance(of, Struct):
        fields = [
            {"id": each.id, "name": each.name, "type": to_json(each.type), "required": each.required}
            for each in of.fields
        ]
        return {"type": "struct", "fields": fields}
    if isinstance(of, List):
        return {
            "type": "list",
            "element-id": of.element.id,
            "element": to_json(of.element.type),
            "element-required": of.element.required,
        }
    return {
        "type": "map",
        "key-id": of.key.id,
        "key": to_json(of.key.type),
        "value-id": of.value.id,
        "value": to_json(of.value.type),
        "value-required": of.value.required,
    }


@dataclass(frozen=True)
class Leaf:
    """A primitive field, and where it is."""

    field: Field
    path: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return ".".join(self.names)

    @property
    def id(self) -> int:
        return self.field.id

    @property
    def type(self) -> str:
        assert isinstance(self.field.type, str)
        return self.field.type

    def of(self, row: Sequence[Any]) -> Any:
        """Take the value of a row; NULL where a struct around it is NULL."""
        value: Any = row
        for place in self.path:
            if value is None:
                return None
            value = value[place]
        return value


def leaves(schema: Struct, *, repeated: bool = False) -> list[Leaf]:
    """List primitive fields in the order of Parquet's columns; with those inside lists and maps if asked for."""
    return [leaf for leaf in _leaves(schema.fields, (), (), True) if leaf.path or repeated]


def _leaves(fields: Sequence[Field], path: tuple[int, ...], names: tuple[str, ...], plain: bool) -> Iterator[Leaf]:
    for place, field in enumerate(fields):
        inner_path, inner_names = (*path, place), (*names, field.name)
        if isinstance(field.type, str):
            yield Leaf(field, inner_path if plain else (), inner_names)
        elif isinstance(field.type, Struct):
            yield from _leaves(field.type.fields, inner_path, inner_names, plain)
        elif isinstance(field.type, List):
            yield from _leaves([field.type.element], inner_path, inner_names, False)
        else:
            yield from _leaves([field.type.key, field.type.value], inner_path, inner_names, False)


def is_floating(of: Type) -> bool:
    return of in ("float", "double")


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def java_deletes_by(leaf: Leaf) -> bool:
    """Tell whether Iceberg's Java code (1.12) finds the rows that equal deletes by a field.

    Of several values of a fixed it keeps the last, whose bytes are read over the others'; bounds of UUIDs it takes for
    signed numbers, and so rules out deletes that apply; of files of which it reads some columns, as for a filter, it
    compares nested fields with others or fails.
    """
    return leaf.type != "uuid" and not leaf.type.startswith("fixed") and len(leaf.path) == 1


def decimal_of(of: str) -> tuple[int, int]:
    """Precision and scale of a decimal.

    >>> decimal_of("decimal(9,2)")
    (9, 2)
    """
    precision, scale = re.findall(r"\d+", of)
    return int(precision), int(scale)


def length_of(of: str) -> int:
    """Bytes of a fixed."""
    return int(re.findall(r"\d+", of)[0])


def identity(value: Any) -> Any:
    """Make a value one that Python compares and hashes as Iceberg compares rows: NaN equals NaN, -0.0 is not 0.0.

    >>> identity(float("nan")) == identity(-float("nan")), identity(0.0) == identity(-0.0), identity((1, 2.0)) == (1, 2.0)
    (True, False, False)
    """
    if isinstance(value, float):
        return b"nan" if math.isnan(value) else struct.pack(">d", value)
    if isinstance(value, tuple):
        return tuple(identity(each) for each in value)
    return value


def total_order(value: Any) -> Any:
    """Make a value one that Python orders as Iceberg orders bounds: -0.0 before 0.0. NaN has no place."""
    return (value, math.copysign(1.0, value)) if isinstance(value, float) else value


def arrow_type(of: Type) -> pa.DataType:
    """The Arrow type that a value is written as, with field ids."""
    if isinstance(of, Struct):
        return pa.struct([arrow_field(each) for each in of.fields])
    if isinstance(of, List):
        return pa.list_(arrow_field(of.element))
    if isinstance(of, Map):
        return pa.map_(arrow_field(of.key), arrow_field(of.value))
    if of.startswith("decimal"):
        return pa.decimal128(*decimal_of(of))
    if of.startswith("fixed"):
        return pa.binary(length_of(of))
    return pa.uuid() if of == "uuid" else ARROW[of]


def arrow_field(field: Field) -> pa.Field:
    return pa.field(
        field.name, arrow_type(field.type), nullable=not field.required, metadata={FIELD_ID: str(field.id).encode()}
    )


def to_arrow(values: Sequence[Any], of: Type) -> pa.Array:
    """Make values an Arrow array."""
    missing = pa.array([value is None for value in values], pa.bool_())
    if isinstance(of, Struct):
        columns = [
            to_arrow([_nothing(each) if value is None else value[place] for value in values], each.type)
            for place, each in enumerate(of.fields)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(of)), mask=missing)
    if isinstance(of, List):
        items = [item for value in values for item in value or ()]
        return pa.ListArray.from_arrays(
            _offsets(values), to_arrow(items, of.element.type), type=arrow_type(of), mask=missing
        )
    if isinstance(of, Map):
        pairs = [pair for value in values for pair in value or ()]
        keys = to_arrow([key for key, _ in pairs], of.key.type)
        items = to_arrow([item for _, item in pairs], of.value.type)
        return pa.MapArray.from_arrays(_offsets(values), keys, items, arrow_type(of), mask=missing)
    target = arrow_type(of)
    if pa.types.is_date32(target):
        return pa.array(values, pa.int32()).cast(target)
    if pa.types.is_time64(target) or pa.types.is_timestamp(target):
        return pa.array(values, pa.int64()).cast(target)
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, pa.array(values, target.storage_type))
    if of == "string":
        raw = [None if value is None else value.encode("utf-8", "surrogateescape") for value in values]
        return pa.array(raw, pa.binary()).view(target)
    return pa.array(values, target)


def _nothing(of: Field) -> Any:
    """What a field holds inside a struct that is NULL: Parquet's writer wants a value of a required one."""
    if not of.required:
        return None
    if isinstance(of.type, Struct):
        return tuple(_nothing(each) for each in of.type.fields)
    if isinstance(of.type, List | Map):
        return ()
    if of.type.startswith("decimal"):
        return Decimal(f"0E-{decimal_of(of.type)[1]}")
    if of.type == "uuid" or of.type.startswith("fixed"):
        return bytes(16 if of.type == "uuid" else length_of(of.type))
    return "" if of.type == "string" else b"" if of.type == "binary" else False if of.type == "boolean" else 0


def _offsets(values: Sequence[Any]) -> pa.Array:
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value or ()))
    return pa.array(ends, pa.int32())


def from_arrow(array: pa.Array, of: Type) -> list[Any]:
    """Read an Arrow array as values of a type that it was promoted to, its fields found by their ids."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(of, Struct):
        return _structs(array, of)
    if isinstance(of, List):
        start, end = _extent(array)
        return _slices(array, from_arrow(array.values.slice(start, end - start), of.element.type))
    if isinstance(of, Map):
        start, end = _extent(array)
        keys = from_arrow(array.keys.slice(start, end - start), of.key.type)
        items = from_arrow(array.items.slice(start, end - start), of.value.type)
        return _slices(array, list(zip(keys, items, strict=True)))
    return _primitives(array)


def _structs(array: pa.StructArray, of: Struct) -> list[Any]:
    places = {field_id(array.type.field(place)): place for place in range(array.type.num_fields)}
    if set(places) == {None}:  # what engines give, in the order of the schema
        places = {each.id: place for place, each in enumerate(of.fields)}
    columns = [
        from_arrow(array.field(places[each.id]), each.type) if each.id in places else [each.default] * len(array)
        for each in of.fields
    ]
    valid = array.is_valid().to_pylist()
    return [tuple(column[row] for column in columns) if valid[row] else None for row in range(len(array))]


def _extent(array: pa.Array) -> tuple[int, int]:
    """Where the items of lists or maps begin and end."""
    return (array.offsets[0].as_py(), array.offsets[-1].as_py()) if len(array) else (0, 0)


def _slices(array: pa.Array, items: list[Any]) -> list[Any]:
    ends = array.offsets.to_pylist() or [0]
    valid = array.is_valid().to_pylist()
    return [
        tuple(items[ends[row] - ends[0] : ends[row + 1] - ends[0]]) if valid[row] else None for row in range(len(array))
    ]


def _primitives(array: pa.Array) -> list[Any]:
    kind = array.type
    if pa.types.is_date32(kind):
        return list(array.cast(pa.int32()).to_pylist())
    if pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        raw = array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
        return [None if value is None else _micros(value, kind.unit) for value in raw]
    return list(array.to_pylist())


def _micros(value: int, unit: str) -> int | Fraction:
    exact = Fraction(value) * Fraction({"s": "1000000", "ms": "1000", "us": "1", "ns": "1/1000"}[unit])
    return int(exact) if exact.denominator == 1 else exact


def field_id(field: pa.Field) -> int | None:
    found = (field.metadata or {}).get(FIELD_ID)
    return None if found is None else int(found)


_FORMATS = {
    "boolean": "<?",
    "int": "<i",
    "date": "<i",
    "long": "<q",
    "time": "<q",
    "timestamp": "<q",
    "timestamptz": "<q",
    "float": "<f",
    "double": "<d",
}


def to_bytes(value: Any, of: str) -> bytes:
    """Write a bound, by the specification's appendix D.

    >>> to_bytes(1, "int"), to_bytes(Decimal("-1.28"), "decimal(9,2)"), to_bytes("é", "string")
    (b'\\x01\\x00\\x00\\x00', b'\\x80', b'\\xc3\\xa9')
    """
    if of in _FORMATS:
        return struct.pack(_FORMATS[of], value)
    if of.startswith("decimal"):
        return unscaled_bytes(unscaled(value, of))
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)


def unscaled(value: Decimal, of: str) -> int:
    """The digits of a decimal as a number; Decimal's own methods would round it to 28 of them.

    >>> unscaled(Decimal("-1.28"), "decimal(9,2)")
    -128
    """
    return int(Fraction(value) * 10 ** decimal_of(of)[1])


def unscaled_bytes(number: int) -> bytes:
    """The fewest bytes of a number in two's complement, the highest first."""
    return number.to_bytes(((number if number >= 0 else ~number).bit_length() // 8) + 1, "big", signed=True)


def from_bytes(raw: bytes, of: str) -> Any:
    """Read a bound, maybe of a type that the column had before it was promoted.

    >>> from_bytes(b"\\x01\\x00\\x00\\x00", "long"), from_bytes(b"\\x80", "decimal(9,2)")
    (1, Decimal('-1.28'))
    """
    if of in ("long", "double") and len(raw) == 4:
        of = "int" if of == "long" else "float"
    if of in _FORMATS:
        return struct.unpack(_FORMATS[of], raw)[0]
    if of.startswith("decimal"):
        return Decimal(f"{int.from_bytes(raw, 'big', signed=True)}E-{decimal_of(of)[1]}")
    return raw.decode() if of == "string" else raw
