"""Files of workloads: what is in them, and as which text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.workload.readers.rows import CONDITION, QUERY

Format = Literal["sql", "rows", "conditions", "event-log", "workload"]
FORMATS: tuple[Format, ...] = ("sql", "rows", "conditions", "event-log", "workload")
_CODECS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4", ".bz2": "bz2"}
_LZ4_BLOCK = b"LZ4Block"
_STATEMENT = re.compile(
    r"\s*(--[^\n]*\n|/\*.*?\*/|\s)*\(*\s*(select|with|from|insert|merge|update|delete|create|use|set|explain|values)\b",
    re.IGNORECASE | re.DOTALL,
)
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")
_CHUNK = 1 << 20
_PEEK = 1 << 16


@dataclass(frozen=True)
class Source:
    """A file.

    Parameters
    ----------
    path : Path
        Where it is.
    kind : str
        One of :data:`FORMATS`.
    is_guess : bool, optional
        Whether that is what it looks like.
    """

    path: Path
    kind: Format
    is_guess: bool = False


def sources(path: Path, kind: Format | None) -> list[Source]:
    """Find the files of a path, and what each is."""
    if not path.exists():
        raise InvalidInputError(f"Cannot read {path}, because there is no such file")
    if not path.is_dir():
        return [Source(path, kind or _kind_of(path), kind is None)]
    files = [each for each in sorted(path.rglob("*")) if each.is_file() and not _is_beside(each)]
    if not files:
        raise InvalidInputError(f"Cannot read {path}, because there are no files in it")
    return [Source(each, kind or _kind_of(each), kind is None) for each in files]


def text_of(path: Path) -> str:
    """Read all of a file, decompressed; what is no UTF-8 in it is replaced."""
    text = b"".join(_chunks(path)).decode("utf-8-sig", errors="replace")
    if 10 * len(_NO_TEXT.findall(text)) > len(text):
        raise InvalidInputError(f"Cannot read {path}, because it is no text in UTF-8")
    return text


def lines_of(path: Path) -> Iterator[str]:
    """Read a file line by line, decompressed; raises as ``text_of``."""
    left = b""
    for chunk in _chunks(path):
        *lines, left = (left + chunk).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace")
    if left:
        yield left.decode(errors="replace")


def _is_beside(path: Path) -> bool:
    return path.name.startswith((".", "_", "appstatus_")) or path.suffix == ".crc"


def _chunks(path: Path) -> Iterator[bytes]:
    suffixes = [each for each in path.suffixes if each != ".inprogress"]
    codec = _CODECS.get(suffixes[-1]) if suffixes else None
    try:
        with path.open("rb") as file:
            if codec is None:
                while chunk := file.read(_CHUNK):
                    yield chunk
                return
            if codec == "lz4" and file.read(len(_LZ4_BLOCK)) == _LZ4_BLOCK:
                yield from _lz4_blocks(path)
                return
        with pa.CompressedInputStream(pa.OSFile(str(path)), codec) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except (OSError, pa.ArrowException) as error:
        raise InvalidInputError(f"Cannot read {path}, because {error}") from error


def _lz4_blocks(path: Path) -> Iterator[bytes]:
    """Read what Java's LZ4BlockOutputStream writes, as Spark uses it: blocks, each with a header of its own."""
    header = len(_LZ4_BLOCK) + 13
    with path.open("rb") as file:
        while len(head := file.read(header)) == header and head.startswith(_LZ4_BLOCK):
            method = head[8] & 0xF0
            packed, size = (int.from_bytes(head[start : start + 4], "little") for start in (9, 13))
            block = file.read(packed)
            if size:
                yield block if method == 0x10 else pa.decompress(block, size, "lz4_raw").to_pybytes()


def _kind_of(path: Path) -> Format:
    suffix = next((each for each in reversed(path.suffixes) if each not in _CODECS and each != ".inprogress"), "")
    if suffix == ".sql":
        return "sql"
    text = _beginning(path)
    stripped = text.lstrip("\ufeff \t\r\n")
    if "ScanReport{tableName=" in text or '"report-type"' in text:
        raise InvalidInputError(f"Cannot read {path}, because Iceberg's scan reports hide the values of filters")
    if stripped.startswith(("{", "[")):
        return _kind_of_json(stripped)
    header = stripped.partition("\n")[0]
    fields = {re.sub(r"[^a-z]", "", each.lower()) for each in re.split(r"[,;\t]", header)}
    if fields & {*QUERY, *CONDITION} and (suffix in (".csv", ".tsv") or len(fields) > 1 or len(header) < 20):
        return "rows"
    if _STATEMENT.match(stripped):
        return "sql"
    if suffix in (".csv", ".tsv"):
        raise InvalidInputError(
            f"Cannot read {path}, because its first line names no column of queries: {header[:100]}"
        )
    return "conditions"


def _kind_of_json(text: str) -> Format:
    if '"Event":"SparkListener' in text[:_PEEK].replace(" ", "") or '"Event":"org.apache.spark' in text.replace(
        " ", ""
    ):
        return "event-log"
    keys = re.findall(r'^\s*\{\s*"version"\s*:\s*\d+\s*,\s*"(queries|columns-only|not-understood)"', text)
    return "workload" if keys else "rows"


def _beginning(path: Path) -> str:
    found = b""
    for chunk in _chunks(path):
        found += chunk
        if len(found) >= _PEEK:
            break
    return found[:_PEEK].decode(errors="replace")
