"""The options of ``rewrite_data_files``: Iceberg's own, by Iceberg's names and defaults, and ours.

Here every value is checked to be of its option's type, and by :func:`domain_faults` to be one that a rewrite takes, as
far as the table is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.arguments import spelled_alike
from iceberg_zorder.request.available_memory import available_memory
from iceberg_zorder.request.layout_options import LAYOUT_OPTIONS, ZOrderOptions, read_option, zorder_options

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
    """Where rows are held that have no room in memory, if not where temporary files are."""


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
    """Check and read options.

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
    """Say which values of options no rewrite takes, in the order and the words of Iceberg's planner.

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
