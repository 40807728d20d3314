"""Files of queries: detect their format, and read them as text, decompressed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import TooLargeError
from iceberg_zorder.workload.readers.rows import CONDITION, MOST_OF_JSON, QUERY, plain

Format = Literal["sql", "rows", "conditions", "event-log", "workload"]
FORMATS: tuple[Format, ...] = get_args(Format)
_CODECS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4", ".bz2": "bz2"}
_STATEMENT = re.compile(
    # Each comment and blank can be matched in one way only: with several, hostile text takes exponential time.
    r"(?:--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/|\s)*(?:\([(\s]*)?"
    r"(?:select|with|from|insert|merge|update|delete|create|use|set|explain|values)\b",
    re.IGNORECASE,
)
_NO_TEXT = bytes([*range(0x09), *range(0x0E, 0x20), 0x7F])
_CHUNK = 1 << 20
_PEEK = 1 << 16
MOST_BYTES = 64 << 20
"""Most bytes of a file that is read as a whole, decompressed: in memory it takes several times as many."""
MOST_BYTES_OF_LINE = MOST_OF_JSON
_MOST_TIMES = 1_000
"""How many times as large as the file its decompressed lines may be."""


@dataclass(frozen=True)
class Source:
    """A file."""

    path: Path
    kind: Format
    is_guess: bool = False  # whether the kind was detected
    content: bytes | None = None  # what a pipe had; it can be read only once


def sources(path: Path, kind: Format | None) -> list[Source]:
    """Return the files of a path with their formats."""
    if not path.exists():
        raise InvalidInputError(f"Cannot read {path}, because the file does not exist")
    files = [each for each in sorted(path.rglob("*")) if each.is_file() and not _is_beside(each)]
    files = files if path.is_dir() else [path]
    if not files:
        raise InvalidInputError(f"Cannot read {path}, because the directory has no files")
    contents = [each.read_bytes() if is_pipe(each) else None for each in files]
    return [
        Source(each, kind or _kind_of(each, content), kind is None, content)
        for each, content in zip(files, contents, strict=True)
    ]


def is_pipe(path: Path) -> bool:
    """Return whether a path is neither a file nor a directory, such as a shell's ``<(command)``."""
    return path.exists() and not path.is_file() and not path.is_dir()


def text_of(source: Source, most: int = MOST_BYTES) -> str:
    """Return a file's text, decompressed; invalid UTF-8 is replaced. Raises TooLargeError, too."""
    content = b"".join(_chunks(source.path, source.content, most))
    text = content.decode("utf-8-sig", errors="replace")
    if 10 * (len(content) - len(content.translate(None, _NO_TEXT)) + text.count("\ufffd")) > len(text):
        raise InvalidInputError(f"Cannot read {source.path}, because it is not UTF-8 text")
    return text


def lines_of(source: Source) -> Iterator[str]:
    """Read a file line by line, decompressed, and of each line ``MOST_BYTES_OF_LINE``; raises as ``text_of``."""
    left = b""
    for chunk in _chunks(source.path, source.content, max(MOST_BYTES, _MOST_TIMES * source.path.stat().st_size)):
        if len(left) == MOST_BYTES_OF_LINE and b"\n" not in chunk:
            continue
        *lines, left = (left + chunk).split(b"\n")
        left = left[:MOST_BYTES_OF_LINE]
        for line in lines:
            yield line[:MOST_BYTES_OF_LINE].decode(errors="replace")
    if left:
        yield left.decode(errors="replace")


def _is_beside(path: Path) -> bool:
    return path.name.startswith((".", "_", "appstatus_")) or path.suffix == ".crc"


def _chunks(path: Path, content: bytes | None, limit: int = MOST_BYTES) -> Iterator[bytes]:
    most = limit
    if content is not None:
        yield content
        return
    suffixes = [each for each in path.suffixes if each != ".inprogress"]
    codec = _CODECS.get(suffixes[-1]) if suffixes else None
    try:
        with pa.input_stream(str(path), compression=codec) as stream:
            while chunk := stream.read(_CHUNK):
                most -= len(chunk)
                if most < 0:
                    raise TooLargeError(f"it is larger than {limit >> 20} MiB: divide it into several files")
                yield chunk
    except (OSError, pa.ArrowException) as error:
        raise InvalidInputError(f"Cannot read {path}, because {error}") from error


def _kind_of(path: Path, content: bytes | None) -> Format:
    suffix = next((each for each in reversed(path.suffixes) if each not in _CODECS and each != ".inprogress"), "")
    if suffix == ".sql":
        return "sql"
    text = _beginning(path, content)
    stripped = text.lstrip("\ufeff \t\r\n")
    if "ScanReport{tableName=" in text or '"report-type"' in text:
        raise InvalidInputError(f"Cannot read {path}, because Iceberg's scan reports hide the values of filters")
    if stripped.startswith(("{", "[")):
        if re.search(r'"Event"\s*:\s*"(SparkListener|org\.apache\.spark)', text):
            return "event-log"
        is_workload = re.match(r'\{\s*"version"\s*:\s*\d+\s*,\s*"(queries|columns-only|not-understood)"', stripped)
        return "workload" if is_workload else "rows"
    header = stripped.partition("\n")[0]
    fields = {plain(each) for each in re.split(r"[,;\t]", header)}
    if fields & {*QUERY, *CONDITION} and (suffix in (".csv", ".tsv") or len(fields) > 1 or len(header) < 20):
        return "rows"
    if _STATEMENT.match(stripped):
        return "sql"
    if suffix in (".csv", ".tsv"):
        raise InvalidInputError(
            f"Cannot read {path}, because its first line names no column of queries: {header[:100]}"
        )
    return "conditions"


def _beginning(path: Path, content: bytes | None) -> str:
    found = b""
    for chunk in _chunks(path, content):
        found += chunk
        if len(found) >= _PEEK:
            break
    return found[:_PEEK].decode(errors="replace")
