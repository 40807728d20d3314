"""Avro files, read and written without a library: Iceberg's manifests as they are, no value taken for a date.

An Avro library would turn partitions of dates into objects that know no year beyond 9999.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAGIC = b"Obj\x01"
_SYNC = b"iceberg-zorder-fz"[:16]


@dataclass(frozen=True)
class AvroFile:
    """What a file holds: its schema, its metadata and its records."""

    schema: Any
    metadata: dict[str, str]
    records: list[dict[str, Any]]


def read(path: Path) -> AvroFile:
    """Read a file."""
    stream = io.BytesIO(path.read_bytes())
    assert stream.read(4) == _MAGIC, path
    raw: dict[str, bytes] = {}
    while count := _read_long(stream):
        if count < 0:
            _read_long(stream)
        for _ in range(abs(count)):
            key = _read_bytes(stream).decode()
            raw[key] = _read_bytes(stream)
    stream.read(16)
    schema = json.loads(raw["avro.schema"])
    codec = raw.get("avro.codec", b"null")
    assert codec in (b"null", b"deflate"), codec
    records: list[dict[str, Any]] = []
    names: dict[str, Any] = {}
    while (start := stream.read(1)) != b"":
        stream.seek(-len(start), io.SEEK_CUR)
        count = _read_long(stream)
        data = _read_bytes(stream)
        block = io.BytesIO(zlib.decompress(data, -15) if codec == b"deflate" else data)
        records += [_read(block, schema, names) for _ in range(count)]
        stream.read(16)
    metadata = {key: value.decode() for key, value in raw.items() if not key.startswith("avro.")}
    return AvroFile(schema, metadata, records)


def write(path: Path, schema: Any, metadata: Mapping[str, str], records: Iterable[Mapping[str, Any]]) -> int:
    """Write a file; return its length."""
    head = {**metadata, "avro.schema": json.dumps(schema), "avro.codec": "deflate"}
    out = bytearray(_MAGIC)
    _write_long(out, len(head))
    for key, value in head.items():
        _write_bytes(out, key.encode())
        _write_bytes(out, value.encode())
    out += b"\x00" + _SYNC
    body, count = bytearray(), 0
    for record in records:
        _write(body, schema, record)
        count += 1
    if count:
        deflate = zlib.compressobj(wbits=-15)
        _write_long(out, count)
        _write_bytes(out, deflate.compress(bytes(body)) + deflate.flush())
        out += _SYNC
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(out)
    return len(out)


def _read_long(stream: io.BytesIO) -> int:
    shift = found = 0
    while True:
        (byte,) = stream.read(1)
        found |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return (found >> 1) ^ -(found & 1)
        shift += 7


def _read_bytes(stream: io.BytesIO) -> bytes:
    return stream.read(_read_long(stream))


def _read(stream: io.BytesIO, schema: Any, names: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return _read(stream, schema[_read_long(stream)], names)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind in names:
        return _read(stream, names[kind], names)
    if isinstance(kind, (dict, list)):
        return _read(stream, kind, names)
    if kind == "record":
        names[schema["name"]] = schema
        return {field["name"]: _read(stream, field["type"], names) for field in schema["fields"]}
    if kind in ("array", "map"):
        return _read_blocks(stream, schema, names)
    if kind == "fixed":
        names[schema["name"]] = schema
        return stream.read(schema["size"])
    return _PRIMITIVES[kind](stream)


_PRIMITIVES: dict[str, Callable[[io.BytesIO], Any]] = {
    "null": lambda stream: None,
    "boolean": lambda stream: stream.read(1) == b"\x01",
    "int": lambda stream: _read_long(stream),
    "long": lambda stream: _read_long(stream),
    "float": lambda stream: struct.unpack("<f", stream.read(4))[0],
    "double": lambda stream: struct.unpack("<d", stream.read(8))[0],
    "bytes": lambda stream: _read_bytes(stream),
    "string": lambda stream: _read_bytes(stream).decode(),
}


def _read_blocks(stream: io.BytesIO, schema: Any, names: dict[str, Any]) -> Any:
    found: list[Any] = []
    while count := _read_long(stream):
        if count < 0:
            _read_long(stream)
        for _ in range(abs(count)):
            if schema["type"] == "map":
                found.append((_read_bytes(stream).decode(), _read(stream, schema["values"], names)))
            else:
                found.append(_read(stream, schema["items"], names))
    return dict(found) if schema["type"] == "map" else found


def _write_long(out: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value & ~0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def _write_bytes(out: bytearray, value: bytes) -> None:
    _write_long(out, len(value))
    out += value


def _write(out: bytearray, schema: Any, value: Any) -> None:
    if isinstance(schema, list):  # always null and one more here
        _write_long(out, 0 if value is None else 1)
        if value is not None:
            _write(out, schema[1], value)
        return
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "record":
        for field in schema["fields"]:
            _write(out, field["type"], value.get(field["name"]))
    elif kind == "array":
        if value:
            _write_long(out, len(value))
            for each in value:
                _write(out, schema["items"], each)
        out.append(0)
    else:
        _write_primitive(out, kind, value)


def _write_primitive(out: bytearray, kind: str, value: Any) -> None:
    if kind == "fixed":
        out += value
    elif kind in ("int", "long"):
        _write_long(out, value)
    elif kind in ("bytes", "string"):
        _write_bytes(out, value.encode() if kind == "string" else value)
    else:
        out += struct.pack({"boolean": "<?", "float": "<f", "double": "<d"}[kind], value)
