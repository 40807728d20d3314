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
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import partial
from operator import ge, gt, le
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
    quoted = []
    for name in columns:
        if not isinstance(name, str):
            raise InvalidInputError(f"Cannot rewrite {table}, because columns holds {name!r}: pass names as text")
        try:
            quoted.append(".".join(map(quoted_identifier, parse_name(name))))
        except InvalidInputError as error:
            raise InvalidInputError(
                f"Cannot rewrite {table}, because '{name}' is not the name of one column: "
                "pass one name per item, a part with special characters in backticks"
            ) from error
    if not quoted:
        raise InvalidInputError(f"Cannot rewrite {table}, because columns is empty: name the columns to cluster by")
    return f"zorder({', '.join(quoted)})"


def spelled_alike(name: str, known: Sequence[str], otherwise: str) -> str:
    """Return the end of a message about an unknown name: the most similar known name, or ``otherwise``.

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
            raise InvalidInputError(f"Cannot set {name}, because JSON cannot hold its value: {error}") from error
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    raise InvalidInputError(f"Cannot set {name} to {value!r}, because it must be text, a finite number or a boolean")


TRANSLATE = "translate"
"""The value of ``on-conflict`` by which deletes of other writers are translated to the new files."""
MEMORY_LIMIT = "memory-limit-bytes"
SPILL_DIRECTORY = "spill-directory"
PYICEBERG_ONLY = (MEMORY_LIMIT, SPILL_DIRECTORY)
"""Options that the Spark engine does not have: Spark has settings for that."""
SMALLEST_MEMORY_LIMIT = 16 * 1024 * 1024

_JOB_ORDERS = ("bytes-asc", "bytes-desc", "files-asc", "files-desc", "none")
# Longer numbers lie outside every domain, and Python refuses to read very long ones.
_INTEGER = re.compile(r"[+-]?0*[0-9]{1,20}")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")


def _one_of(text: str, *known: str) -> str:
    if text not in known:
        raise ValueError(text)
    return text


def _integer(text: str, least: int, most: int) -> int:
    if not _INTEGER.fullmatch(text) or not least <= int(text) <= most:
        raise ValueError(text)
    return int(text)


def _number(text: str, *, is_one_in: bool) -> float:
    if not _NUMBER.fullmatch(text) or not (0 <= float(text) < 1 or (is_one_in and float(text) == 1)):
        raise ValueError(text)
    return float(text)


def _double(text: str) -> float:
    if not _DOUBLE.fullmatch(text.strip()):
        raise ValueError(text)
    return float(text.strip().rstrip("fFdD"))


def _directory(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text


_Kind = tuple[str, Callable[[str], object]]
"""The domain of an option in words, and its parser; without words the parser has its own messages."""
_ANY_INT: _Kind = ("a whole number", partial(_integer, least=-(2**31), most=2**31 - 1))
_ANY_LONG: _Kind = ("a whole number", partial(_integer, least=-(2**63), most=2**63 - 1))
_ANY_DOUBLE: _Kind = ("a number", _double)
_BOOLEAN: _Kind = ("true or false", lambda text: _one_of(text.lower(), "true", "false") == "true")
_ANY_TEXT: _Kind = ("", str)


def _integer_in(least: int, most: int) -> _Kind:
    return f"an integer in [{least}, {most}]", partial(_integer, least=least, most=most)


def _option(name: str, kind: _Kind, default: object = None) -> Any:
    """Declare an option by the field that holds its value: its name, its domain, and its default."""
    return field(default=default, metadata={"name": name, "kind": kind})


_SAMPLE_ROWS_PER_FILE = 1_000
_SAMPLE_ROWS_AT_LEAST = 50_000
_SAMPLE_ROWS_AT_MOST = 1_000_000


@dataclass(frozen=True)
class ZOrderOptions:
    """Options of a layout, checked."""

    cuts: str = _option("cuts", (f"'{ADAPTIVE}' or '{EVEN}'", lambda text: _one_of(text, ADAPTIVE, EVEN)), ADAPTIVE)
    column_weights: tuple[tuple[tuple[str, ...], float], ...] = _option(
        "column-weights", ("", parse_column_weights), ()
    )
    size_tolerance: float = _option("size-tolerance", ("a number in [0, 1)", partial(_number, is_one_in=False)), 0.25)
    sample_rows: int | None = _option("sample-rows", _integer_in(1, 2**31 - 1))
    sample_seed: int = _option("sample-seed", _integer_in(-(2**63), 2**63 - 1), 0)
    boundaries: int = _option("boundaries", _integer_in(1, MAX_BOUNDARIES), 4096)
    metrics_check: str = _option(
        "metrics-check", (f"'{WARN}', '{FAIL}' or '{FIX}'", lambda text: _one_of(text.lower(), WARN, FAIL, FIX)), WARN
    )
    dry_run: bool = _option("dry-run", _BOOLEAN, default=False)
    workload: str | None = _option("workload", _ANY_TEXT)
    """The workload as JSON, or the location of a JSON file."""
    workload_share: float = _option(
        "workload-share", ("a number in [0, 1]", partial(_number, is_one_in=True)), WORKLOAD_SHARE
    )

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


MAX_FILE_GROUP_SIZE = 1024**4
"""The default of ``max-file-group-size-bytes``: a Spark job then needs at most about 4 TiB of local disk."""


@dataclass(frozen=True)
class RewriteOptions:
    """Options of one rewrite, each of its type; ``docs/reference/options.md`` has what they do.

    Sizes are in bytes.
    """

    layout: ZOrderOptions = field(default_factory=ZOrderOptions)
    # Iceberg's.
    target_file_size: int | None = _option("target-file-size-bytes", _ANY_LONG)
    min_file_size: int | None = _option("min-file-size-bytes", _ANY_LONG)
    max_file_size: int | None = _option("max-file-size-bytes", _ANY_LONG)
    min_input_files: int = _option("min-input-files", _ANY_INT, 5)
    max_file_group_size: int = _option("max-file-group-size-bytes", _ANY_LONG, MAX_FILE_GROUP_SIZE)
    max_file_group_input_files: int = _option("max-file-group-input-files", _ANY_LONG, 2**63 - 1)
    max_files_to_rewrite: int | None = _option("max-files-to-rewrite", _ANY_INT)
    delete_file_threshold: int = _option("delete-file-threshold", _ANY_INT, 2**31 - 1)
    delete_ratio_threshold: float = _option("delete-ratio-threshold", _ANY_DOUBLE, 0.3)
    compression_factor: float = _option("compression-factor", _ANY_DOUBLE, 1.0)
    rewrite_all: bool = _option("rewrite-all", _BOOLEAN, default=False)
    rewrite_job_order: str = _option("rewrite-job-order", _ANY_TEXT, "none")
    output_spec_id: int | None = _option("output-spec-id", _ANY_INT)
    max_concurrent_file_group_rewrites: int = _option("max-concurrent-file-group-rewrites", _ANY_INT, 5)
    partial_progress: bool = _option("partial-progress.enabled", _BOOLEAN, default=False)
    max_commits: int = _option("partial-progress.max-commits", _ANY_INT, 10)
    max_failed_commits: int = _option("partial-progress.max-failed-commits", _ANY_INT, 10)
    use_starting_sequence_number: bool = _option("use-starting-sequence-number", _BOOLEAN, default=True)
    remove_dangling_deletes: bool = _option("remove-dangling-deletes", _BOOLEAN, default=False)
    # Ours: what happens if others delete rows meanwhile.
    on_conflict: str = _option(
        "on-conflict", (f"'{TRANSLATE}' or 'fail'", lambda text: _one_of(text.lower(), TRANSLATE, "fail")), TRANSLATE
    )
    # Ours: which files are rewritten, and with what.
    max_scan_ratio: float = _option("max-scan-ratio", _ANY_DOUBLE, 1.2)
    min_age_seconds: int = _option("min-age-seconds", _ANY_LONG, 0)
    rewrite_old_specs: bool = _option("rewrite-old-specs", _BOOLEAN, default=False)
    memory_limit: int = _option(
        MEMORY_LIMIT,
        (
            f"an integer in [{SMALLEST_MEMORY_LIMIT}, {2**63 - 1}]",
            lambda text: _integer(text, SMALLEST_MEMORY_LIMIT, 2**63 - 1),  # tests set a smaller one
        ),
        SMALLEST_MEMORY_LIMIT,
    )
    spill_directory: str | None = _option(SPILL_DIRECTORY, ("the name of a directory", _directory))
    """The directory for rows above the memory limit; None for the directory of temporary files."""


_FIELDS = {each.metadata["name"]: each for each in (*fields(ZOrderOptions), *fields(RewriteOptions)) if each.metadata}
KNOWN_OPTIONS = tuple(sorted(_FIELDS))
"""The names of all options."""


def rewrite_options(options: Mapping[str, str]) -> RewriteOptions:
    """Return the parsed options; raises if a value has a wrong type, or options exclude each other.

    Examples
    --------
    >>> rewrite_options({"rewrite-all": "TRUE", "memory-limit-bytes": "268435456"}).memory_limit
    268435456
    >>> rewrite_options({"boundaries": "0"})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot set boundaries to '0', because it must be an integer in [1, 65536]
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
    values: dict[str, Any] = {_FIELDS[name].name: _value(name, text) for name, text in options.items()}
    values.setdefault("max_failed_commits", values.get("max_commits", 10))
    if MEMORY_LIMIT not in options:
        values["memory_limit"] = max(SMALLEST_MEMORY_LIMIT, available_memory() // 4)
    of_layout = {each.name: values.pop(each.name) for each in fields(ZOrderOptions) if each.name in values}
    if "workload" in of_layout:
        if of_layout.get("cuts") == EVEN:
            raise InvalidInputError(
                f"Cannot use option workload with cuts '{EVEN}', because only adaptive cuts follow queries"
            )
        of_layout.setdefault("size_tolerance", WORKLOAD_TOLERANCE)
    elif "workload_share" in of_layout:
        raise InvalidInputError("Cannot use option workload-share, because option workload is not given")
    read = RewriteOptions(ZOrderOptions(**of_layout), **values)
    positive = [("max-concurrent-file-group-rewrites", read.max_concurrent_file_group_rewrites, "")]
    if read.partial_progress:
        positive.append(("partial-progress.max-commits", read.max_commits, " when partial-progress.enabled is true"))
    for name, value, condition in positive:
        if value < 1:
            raise InvalidInputError(f"Cannot set {name} to {value}, because the value must be positive{condition}.")
    return read


def _value(name: str, text: str) -> object:
    words, parse = _FIELDS[name].metadata["kind"]
    try:
        return parse(text)
    except InvalidInputError:
        raise
    except ValueError as error:
        raise InvalidInputError(f"Cannot set {name} to '{text}', because it must be {words}") from error


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
    spec, files = options.output_spec_id, options.max_files_to_rewrite
    checks = [
        _bound("target-file-size-bytes", target, ">", 0),
        _bound("min-file-size-bytes", least, ">=", 0),
        (
            target is None or least is None or target > least,
            f"'target-file-size-bytes' ({target}) must be > 'min-file-size-bytes' ({least}), "
            "all new files will be smaller than the min threshold",
        ),
        (
            target is None or most is None or target < most,
            f"'target-file-size-bytes' ({target}) must be < 'max-file-size-bytes' ({most}), "
            "all new files will be larger than the max threshold",
        ),
        _bound("min-input-files", options.min_input_files, ">", 0),
        _bound("max-file-group-size-bytes", options.max_file_group_size, ">", 0),
        _bound("max-file-group-input-files", options.max_file_group_input_files, ">", 0),
        (
            spec is None or specs is None or spec in specs,
            f"Cannot use output spec id {spec} because the table does not contain a reference to this spec-id.",
        ),
        _bound("delete-file-threshold", options.delete_file_threshold, ">=", 0),
        _bound("delete-ratio-threshold", options.delete_ratio_threshold, ">", 0),
        _bound("delete-ratio-threshold", options.delete_ratio_threshold, "<=", 1),
        (
            files is None or files > 0,
            f"Cannot set max-files-to-rewrite to {files}, the value must be positive integer.",
        ),
        _bound("compression-factor", options.compression_factor, ">", 0),
        _bound("max-scan-ratio", options.max_scan_ratio, ">=", 1),
        _bound("min-age-seconds", options.min_age_seconds, ">=", 0),
        (
            options.rewrite_job_order.replace("_", "-").lower() in _JOB_ORDERS,
            f"Invalid rewrite job order name: {options.rewrite_job_order}",
        ),
    ]
    return [why for holds, why in checks if not holds]


def _bound(name: str, value: float | None, sign: str, bound: int) -> tuple[bool, str]:
    holds = value is None or {">": gt, ">=": ge, "<=": le}[sign](value, bound)
    return holds, f"'{name}' is set to {value} but must be {sign} {bound}"
