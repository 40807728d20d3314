"""The arguments and options of ``rewrite_data_files``: Iceberg's own, with Iceberg's names and defaults, and ours.

:func:`rewrite_options` checks the type of every value, and :func:`domain_faults` its domain.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import MAX_BOUNDARIES
from iceberg_zorder.layout.box_tree import ADAPTIVE, EVEN
from iceberg_zorder.layout.columns import parse_name, quoted_identifier
from iceberg_zorder.layout.fit import WORKLOAD_SHARE, WORKLOAD_TOLERANCE
from iceberg_zorder.rewrite.measures import size
from iceberg_zorder.rewrite.metrics_check import FAIL, FIX, WARN
from iceberg_zorder.rewrite.sort_order import parse_column_weights, parse_sort_order

_V1 = "memory/memory.limit_in_bytes"


def available_memory(root: Path = Path("/")) -> int:
    """Return how many bytes of memory this process may use.

    A control group's limit also holds for the groups inside it, so that the smallest limit on the path to the root
    counts. Of version 1 only the limit of the root counts, which is a container's own group.

    Examples
    --------
    >>> 0 < available_memory() <= available_memory(Path("/no/such/directory"))
    True
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = _text(root / "proc/self/cgroup").splitlines()
    own = next((line.removeprefix("0::") for line in lines if line.startswith("0::/")), "/")
    # A container may see its group by a path of the host, although its own root is that group.
    groups = [group.relative_to("/") for group in (PurePosixPath(own), *PurePosixPath(own).parents)]
    files = [*(group / "memory.max" for group in groups if ".." not in group.parts), PurePosixPath(_V1)]
    limits = [_text(root / "sys/fs/cgroup" / file).strip() for file in files]
    # No process runs with a limit of 0, so that 0 is no limit.
    return min([machine, *(int(limit) for limit in limits if limit.isdecimal() and int(limit))])


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""


OptionValue = bool | int | float | str | Mapping[str, object]
"""The value of an option; a mapping, which option ``workload`` takes, is written as JSON."""

# One part of a dotted name: in backticks (doubled inside), or bare.
_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s`.,()'\"]+))\s*(\.|$)")


def name_parts(name: str) -> list[str]:
    """Split a dotted name into its parts.

    Examples
    --------
    >>> name_parts("lake.`my db`.events")
    ['lake', 'my db', 'events']
    """
    parts = []
    position = 0
    while True:
        match = _PART.match(name, position)
        if match is None:
            raise InvalidInputError(f"Cannot read the name '{name}', because no part of a name starts at {position}")
        quoted, bare, end = match.groups()
        parts.append(bare if quoted is None else quoted.replace("``", "`"))
        if not end:
            return parts
        position = match.end()


def sort_order_text(table: str, columns: Sequence[str] | str) -> str:
    """Return clustering columns as the text of ``sort_order``.

    Examples
    --------
    >>> sort_order_text("db.t", ["a", "b.`c d`"])
    'zorder(`a`, `b`.`c d`)'
    """
    if isinstance(columns, str):
        parse_sort_order(columns)
        return columns
    names = list(columns)
    if not names:
        raise InvalidInputError(f"Cannot rewrite {table}, because columns is empty: name the columns to cluster by")
    return f"zorder({', '.join(_quoted_column(table, name) for name in names)})"


def _quoted_column(table: str, name: str) -> str:
    if not isinstance(name, str):
        raise InvalidInputError(f"Cannot rewrite {table}, because columns holds {name!r}: pass names as text")
    try:
        parts = parse_name(name)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"Cannot rewrite {table}, because '{name}' is not the name of one column: "
            "pass one name per item, a part with special characters in backticks"
        ) from error
    return ".".join(quoted_identifier(part) for part in parts)


def spelled_alike(name: str, known: Sequence[str], otherwise: str) -> str:
    """Return the end of a message about an unknown name: the known name that is most alike, or ``otherwise``.

    Examples
    --------
    >>> spelled_alike("usr_id", ["id", "user_id"], "it has id, user_id"), spelled_alike("x", ["id"], "it has id")
    (" (did you mean 'user_id'?)", ': it has id')
    """
    near = get_close_matches(name, known, n=1)
    return f" (did you mean '{near[0]}'?)" if near else f": {otherwise}"


def option_text(name: object, value: object) -> str:
    """Return the value of an option as text that Iceberg reads.

    Examples
    --------
    >>> option_text("rewrite-all", True), option_text("target-file-size-bytes", 512e6), option_text("sample-seed", 7)
    ('true', '512000000', '7')
    >>> option_text("target-file-size-bytes", "128 MiB")
    '134217728'
    >>> option_text("target-file-size-bytes", "128 mb")
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot set target-file-size-bytes, because '128 mb' is not a size: bytes, \
or such as 10 GB or 512 MiB
    """
    if not isinstance(name, str):
        raise InvalidInputError(f"Cannot set the option {name!r}, because the name of an option is a text")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A number without a unit is checked with its domain.
        if name.endswith("-bytes") and re.search("[A-Za-z]", value):
            try:
                return str(size(value))
            except InvalidInputError as error:
                raise InvalidInputError(f"Cannot set {name}, because {error}") from None
        return value
    if isinstance(value, Mapping):
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"Cannot set {name}, because it is nothing that JSON can have: {error}") from error
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    raise InvalidInputError(f"Cannot set {name} to {value!r}, because it must be text, a finite number or a boolean")


_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
# Longer numbers lie outside every domain, and Python refuses to read very long ones.
_COUNT = re.compile(r"[+-]?0*[0-9]{1,20}")
_SAMPLE_ROWS_PER_FILE = 1_000
_SAMPLE_ROWS_AT_LEAST = 50_000
_SAMPLE_ROWS_AT_MOST = 1_000_000


@dataclass(frozen=True)
class ZOrderOptions:
    """Options of a layout, checked."""

    cuts: str = ADAPTIVE
    column_weights: tuple[tuple[tuple[str, ...], float], ...] = ()
    size_tolerance: float = 0.25
    sample_rows: int | None = None
    sample_seed: int = 0
    boundaries: int = 4096
    metrics_check: str = WARN
    dry_run: bool = False
    workload: str | None = None
    """JSON, or its address."""
    workload_share: float = WORKLOAD_SHARE

    def sample_rows_for(self, files: int) -> int:
        """Return how many rows to sample for a number of output files.

        Examples
        --------
        >>> [ZOrderOptions().sample_rows_for(files) for files in (1, 64, 5000)]
        [50000, 64000, 1000000]
        """
        if self.sample_rows is not None:
            return self.sample_rows
        return min(_SAMPLE_ROWS_AT_MOST, max(_SAMPLE_ROWS_AT_LEAST, _SAMPLE_ROWS_PER_FILE * files))


def _one_of(text: str, *known: str) -> str:
    if text not in known:
        raise ValueError(text)
    return text


def _number(text: str, *, is_one_in: bool) -> float:
    if not _NUMBER.fullmatch(text) or not (0 <= float(text) < 1 or (is_one_in and float(text) == 1)):
        raise ValueError(text)
    return float(text)


def _integer(text: str, least: int, most: int) -> int:
    if not _COUNT.fullmatch(text) or not least <= int(text) <= most:
        raise ValueError(text)
    return int(text)


def _integers(least: int, most: int) -> tuple[str, Callable[[str], object]]:
    return f"an integer in [{least}, {most}]", partial(_integer, least=least, most=most)


_LAYOUT: dict[str, tuple[str, Callable[[str], object]]] = {
    "cuts": (f"'{ADAPTIVE}' or '{EVEN}'", lambda text: _one_of(text, ADAPTIVE, EVEN)),
    "column-weights": ("", parse_column_weights),
    "size-tolerance": ("a number in [0, 1)", partial(_number, is_one_in=False)),
    "sample-rows": _integers(1, 2**31 - 1),
    "sample-seed": _integers(-(2**63), 2**63 - 1),
    "boundaries": _integers(1, MAX_BOUNDARIES),
    "metrics-check": (f"'{WARN}', '{FAIL}' or '{FIX}'", lambda text: _one_of(text.lower(), WARN, FAIL, FIX)),
    "dry-run": ("true or false", lambda text: _one_of(text.lower(), "true", "false") == "true"),
    "workload": ("", str),
    "workload-share": ("a number in [0, 1]", partial(_number, is_one_in=True)),
}
"""For each option its domain in words, and its parser; without words the parser has its own messages."""
LAYOUT_OPTIONS = tuple(_LAYOUT)
"""The names of these options."""


def zorder_options(options: Mapping[str, str]) -> ZOrderOptions:
    """Return our own options, checked.

    Examples
    --------
    >>> zorder_options({"boundaries": "255", "rewrite-all": "true"}).boundaries
    255
    >>> zorder_options({"boundaries": "0"})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot set boundaries to '0', because it must be an integer in [1, 65536]
    """
    found: dict[str, Any] = {
        name.replace("-", "_"): read_option(name, options[name], *_LAYOUT[name]) for name in _LAYOUT if name in options
    }
    if "workload" not in found and "workload_share" in found:
        raise InvalidInputError("Cannot use option workload-share, because option workload is not given")
    if "workload" in found:
        if found.get("cuts") == EVEN:
            raise InvalidInputError(
                f"Cannot use option workload with cuts '{EVEN}', because only adaptive cuts follow queries"
            )
        found.setdefault("size_tolerance", WORKLOAD_TOLERANCE)
    return ZOrderOptions(**found)


def read_option(name: str, text: str, words: str, parse: Callable[[str], object]) -> object:
    """Parse the value of an option; the error says that it must be ``words``."""
    try:
        return parse(text)
    except InvalidInputError:
        raise
    except ValueError as error:
        raise InvalidInputError(f"Cannot set {name} to '{text}', because it must be {words}") from error


MEMORY_LIMIT = "memory-limit-bytes"
SPILL_DIRECTORY = "spill-directory"
PYICEBERG_ONLY = (MEMORY_LIMIT, SPILL_DIRECTORY)
"""Options that the Spark engine does not have: Spark has settings for that."""
SMALLEST_MEMORY_LIMIT = 16 * 1024 * 1024

_JOB_ORDERS = ("bytes-asc", "bytes-desc", "files-asc", "files-desc", "none")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")


def _int(text: str) -> int:
    return _whole(text, 31)


def _long(text: str) -> int:
    return _whole(text, 63)


def _whole(text: str, bits: int) -> int:
    if not _INTEGER.fullmatch(text) or len(text) > 400 or not -(1 << bits) <= int(text) < 1 << bits:
        raise ValueError(text)
    return int(text)


def _double(text: str) -> float:
    if not _FLOAT.fullmatch(text.strip()):
        raise ValueError(text)
    return float(text.strip().rstrip("fFdD"))


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _memory(text: str) -> int:
    limit = _long(text)
    if limit < SMALLEST_MEMORY_LIMIT:
        raise ValueError(text)
    return limit


def _directory(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text


_Kind = tuple[str, Callable[[str], object]]
_INT: _Kind = ("a whole number", _int)
_LONG: _Kind = ("a whole number", _long)
_DOUBLE: _Kind = ("a number", _double)
_BOOLEAN: _Kind = ("true or false", _boolean)
_TEXT: _Kind = ("a text", str)

_ICEBERG: dict[str, _Kind] = {
    "compression-factor": _DOUBLE,
    "delete-file-threshold": _INT,
    "delete-ratio-threshold": _DOUBLE,
    "max-concurrent-file-group-rewrites": _INT,
    "max-file-group-input-files": _LONG,
    "max-file-group-size-bytes": _LONG,
    "max-file-size-bytes": _LONG,
    "max-files-to-rewrite": _INT,
    "min-file-size-bytes": _LONG,
    "min-input-files": _INT,
    "output-spec-id": _INT,
    "partial-progress.enabled": _BOOLEAN,
    "partial-progress.max-commits": _INT,
    "partial-progress.max-failed-commits": _INT,
    "remove-dangling-deletes": _BOOLEAN,
    "rewrite-all": _BOOLEAN,
    "rewrite-job-order": _TEXT,
    "target-file-size-bytes": _LONG,
    "use-starting-sequence-number": _BOOLEAN,
}
_READ = {
    **_ICEBERG,
    "max-scan-ratio": _DOUBLE,
    "min-age-seconds": _LONG,
    "rewrite-old-specs": _BOOLEAN,
    MEMORY_LIMIT: (f"an integer in [{SMALLEST_MEMORY_LIMIT}, {2**63 - 1}]", _memory),
    SPILL_DIRECTORY: ("the name of a directory", _directory),
}
KNOWN_OPTIONS = tuple(sorted([*_READ, *LAYOUT_OPTIONS]))
"""The names of all options."""


@dataclass(frozen=True)
class RewriteOptions:
    """Options of one rewrite, each of its type; ``docs/options.md`` has what they do.

    Sizes are in bytes.
    """

    layout: ZOrderOptions = field(default_factory=ZOrderOptions)
    target_file_size: int | None = None
    min_file_size: int | None = None
    max_file_size: int | None = None
    min_input_files: int = 5
    max_file_group_size: int | None = None
    max_file_group_input_files: int = 2**63 - 1
    max_files_to_rewrite: int | None = None
    delete_file_threshold: int = 2**31 - 1
    delete_ratio_threshold: float = 0.3
    compression_factor: float = 1.0
    rewrite_all: bool = False
    rewrite_job_order: str = "none"
    output_spec_id: int | None = None
    max_concurrent_file_group_rewrites: int = 5
    partial_progress: bool = False
    max_commits: int = 10
    max_failed_commits: int = 10
    use_starting_sequence_number: bool = True
    remove_dangling_deletes: bool = False
    max_scan_ratio: float = 1.2
    min_age_seconds: int = 0
    rewrite_old_specs: bool = False
    memory_limit: int = SMALLEST_MEMORY_LIMIT
    spill_directory: str | None = None
    """The directory for rows that have no room in memory; None is that of temporary files."""


_FIELDS = {
    "target-file-size-bytes": "target_file_size",
    "min-file-size-bytes": "min_file_size",
    "max-file-size-bytes": "max_file_size",
    "max-file-group-size-bytes": "max_file_group_size",
    MEMORY_LIMIT: "memory_limit",
    "partial-progress.enabled": "partial_progress",
    "partial-progress.max-commits": "max_commits",
    "partial-progress.max-failed-commits": "max_failed_commits",
}


def rewrite_options(options: Mapping[str, str]) -> RewriteOptions:
    """Return options, each checked to be of its type.

    Examples
    --------
    >>> rewrite_options({"rewrite-all": "TRUE", "memory-limit-bytes": "268435456"}).memory_limit
    268435456
    >>> rewrite_options({"min-input-files": "two"})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot set min-input-files to 'two', because it must be a whole number
    >>> rewrite_options({"min-input-file": "2"})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use options [min-input-file], because they are not supported by \
the action or the rewriter zorder (did you mean 'min-input-files'?)
    """
    unknown = sorted(set(options) - set(KNOWN_OPTIONS))
    if unknown:
        hint = spelled_alike(unknown[0], KNOWN_OPTIONS, f"known are [{', '.join(KNOWN_OPTIONS)}]")
        raise InvalidInputError(
            f"Cannot use options [{', '.join(unknown)}], because they are not supported by the action or the rewriter "
            f"zorder{hint}"
        )
    values = {
        _FIELDS.get(name, name.replace("-", "_")): read_option(name, options[name], *_READ[name])
        for name in options
        if name in _READ
    }
    values.setdefault("max_failed_commits", values.get("max_commits", 10))
    if MEMORY_LIMIT not in options:
        values["memory_limit"] = max(SMALLEST_MEMORY_LIMIT, available_memory() // 4)
    read = RewriteOptions(
        layout=zorder_options(options),
        **values,  # type: ignore[arg-type]
    )
    _check_positive("max-concurrent-file-group-rewrites", read.max_concurrent_file_group_rewrites, "")
    if read.partial_progress:
        _check_positive("partial-progress.max-commits", read.max_commits, " when partial-progress.enabled is true")
    return read


def _check_positive(name: str, value: int, condition: str) -> None:
    if value < 1:
        raise InvalidInputError(f"Cannot set {name} to {value}, because the value must be positive{condition}.")


def domain_faults(
    options: RewriteOptions,
    target: int | None,
    least: int | None,
    most: int | None,
    specs: Collection[int] | None = None,
) -> list[str]:
    """Return what is wrong with values of options, in the order and the words of Iceberg's planner.

    Examples
    --------
    >>> domain_faults(RewriteOptions(max_scan_ratio=0.5), None, None, None)
    ["'max-scan-ratio' is set to 0.5 but must be >= 1"]
    >>> domain_faults(RewriteOptions(), 100, None, 90)
    ["'target-file-size-bytes' (100) must be < 'max-file-size-bytes' (90), all new files will be larger than the max \
threshold"]
    """
    given = "max-files-to-rewrite", options.max_files_to_rewrite
    spec = options.output_spec_id
    ratio = "delete-ratio-threshold", options.delete_ratio_threshold
    checks = [
        *_size_checks(target, least, most),
        _above("min-input-files", options.min_input_files),
        _above("max-file-group-size-bytes", options.max_file_group_size),
        _above("max-file-group-input-files", options.max_file_group_input_files),
        (
            spec is None or specs is None or spec in specs,
            f"Cannot use output spec id {spec} because the table does not contain a reference to this spec-id.",
        ),
        _from(0, "delete-file-threshold", options.delete_file_threshold),
        _above(*ratio),
        (ratio[1] <= 1, f"'{ratio[0]}' is set to {ratio[1]} but must be <= 1"),
        (_above(*given)[0], f"Cannot set {given[0]} to {given[1]}, the value must be positive integer."),
        _above("compression-factor", options.compression_factor),
        _from(1, "max-scan-ratio", options.max_scan_ratio),
        _from(0, "min-age-seconds", options.min_age_seconds),
        (
            options.rewrite_job_order.replace("_", "-").lower() in _JOB_ORDERS,
            f"Invalid rewrite job order name: {options.rewrite_job_order}",
        ),
    ]
    return [why for holds, why in checks if not holds]


def _size_checks(target: int | None, least: int | None, most: int | None) -> list[tuple[bool, str]]:
    names = ("target-file-size-bytes", "min-file-size-bytes", "max-file-size-bytes")
    all_new = "all new files will be"
    return [
        _above(names[0], target),
        _from(0, names[1], least),
        (
            target is None or least is None or target > least,
            f"'{names[0]}' ({target}) must be > '{names[1]}' ({least}), {all_new} smaller than the min threshold",
        ),
        (
            target is None or most is None or target < most,
            f"'{names[0]}' ({target}) must be < '{names[2]}' ({most}), {all_new} larger than the max threshold",
        ),
    ]


def _above(name: str, value: float | None) -> tuple[bool, str]:
    return value is None or value > 0, f"'{name}' is set to {value} but must be > 0"


def _from(least: int, name: str, value: float | None) -> tuple[bool, str]:
    return value is None or value >= least, f"'{name}' is set to {value} but must be >= {least}"
