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
from iceberg_zorder.request.layout_options import ZOrderOptions, zorder_options

MEMORY_LIMIT = "memory-limit-bytes"
SPILL_DIRECTORY = "spill-directory"
PYICEBERG_ONLY = (MEMORY_LIMIT, SPILL_DIRECTORY)
"""Options that the Spark engine does not have: Spark has settings for that."""
SMALLEST_MEMORY_LIMIT = 16 * 1024 * 1024

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_OWN = (
    *("boundaries", "column-weights", "cuts", "dry-run", "metrics-check"),
    *("sample-rows", "sample-seed", "size-tolerance", "workload", "workload-share"),
)


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
_READ = {**_ICEBERG, "max-scan-ratio": _DOUBLE, "min-age-seconds": _LONG, "rewrite-old-specs": _BOOLEAN}
KNOWN_OPTIONS = tuple(sorted([*_READ, *_OWN, *PYICEBERG_ONLY]))
"""The names of all options."""


@dataclass(frozen=True)
class RewriteOptions:
    """Options of one rewrite, each of its type.

    Parameters
    ----------
    layout : ZOrderOptions
        Our own options.
    target_file_size, min_file_size, max_file_size : int or None
        Sizes of data files in bytes, where given.
    min_input_files : int
        A file group of so many files is rewritten.
    max_file_group_size : int or None
        A file group has so many bytes at most, where given; else larger ones are cut only where no file lies.
    max_file_group_input_files : int
        Checked, and not applied: a partition is one file group, so that its files do not overlap.
    max_files_to_rewrite : int or None
        Files rewritten at most, if set.
    delete_file_threshold : int
        A file with so many delete files is rewritten.
    delete_ratio_threshold : float
        A file with this share of its rows deleted is rewritten.
    compression_factor : float
        Multiplies the input's size before it is divided into files.
    rewrite_all : bool
        Whether files are rewritten whatever their size.
    rewrite_job_order : str
        The order of file groups, as written.
    output_spec_id : int or None
        Partition spec of the files written, if not the current one.
    max_concurrent_file_group_rewrites : int
        File groups rewritten at a time, at least 1.
    partial_progress : bool
        Whether file groups are committed in several commits.
    max_commits : int
        Commits at most, with partial progress; at least 1 then.
    max_failed_commits : int
        Failed commits tolerated, with partial progress.
    use_starting_sequence_number : bool
        Whether new files get the sequence number of the starting snapshot.
    remove_dangling_deletes : bool
        Whether delete files that apply to nothing any more are removed afterwards.
    max_scan_ratio : float
        Files are rewritten where the scan fraction is above so many times the attainable one, at least 1.
    min_age_seconds : int
        Younger files are left alone, at least 0.
    rewrite_old_specs : bool
        Whether files of another partition spec than that of new files are rewritten whatever their size.
    memory_limit : int
        Bytes of memory for rows, at least 16 MiB.
    spill_directory : str or None
        Where rows are held that have no room in memory, if not where temporary files are.
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


_FIELDS = {
    "target-file-size-bytes": "target_file_size",
    "min-file-size-bytes": "min_file_size",
    "max-file-size-bytes": "max_file_size",
    "max-file-group-size-bytes": "max_file_group_size",
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
        _FIELDS.get(name, name.replace("-", "_")): _read(name, options[name], _READ[name])
        for name in options
        if name in _READ
    }
    values.setdefault("max_failed_commits", values.get("max_commits", 10))
    read = RewriteOptions(
        layout=zorder_options({name: options[name] for name in _OWN if name in options}),
        memory_limit=_memory_limit(options.get(MEMORY_LIMIT)),
        spill_directory=_directory(options.get(SPILL_DIRECTORY)),
        **values,  # type: ignore[arg-type]
    )
    _check_positive("max-concurrent-file-group-rewrites", read.max_concurrent_file_group_rewrites, "")
    if read.partial_progress:
        _check_positive("partial-progress.max-commits", read.max_commits, " when partial-progress.enabled is true")
    return read


def _read(name: str, text: str, kind: _Kind) -> object:
    words, parse = kind
    try:
        return parse(text)
    except ValueError as error:
        raise InvalidInputError(f"Cannot set {name} to '{text}', because it must be {words}") from error


def _memory_limit(text: str | None) -> int:
    if text is None:
        return max(SMALLEST_MEMORY_LIMIT, available_memory() // 4)
    try:
        limit = _long(text)
    except ValueError:
        limit = -1
    if limit < SMALLEST_MEMORY_LIMIT:
        raise InvalidInputError(
            f"Cannot set {MEMORY_LIMIT} to '{text}', because it must be an integer in [{SMALLEST_MEMORY_LIMIT}, "
            f"{2**63 - 1}]"
        )
    return limit


def _directory(text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise InvalidInputError(f"Cannot set {SPILL_DIRECTORY} to '{text}', because it must name a directory")
    return text


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
