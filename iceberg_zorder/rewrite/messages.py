"""Reason codes with parameters, and their texts; the messages of rewrites."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from iceberg_zorder.figures import count, one_file, size
from iceberg_zorder.rewrite.result import ColumnScan, TableFiles

COLUMNS, QUERIES = "columns", "queries"
"""The sets that scan fractions are averaged over."""
NOT_IN_PLAN = "not-in-plan"
WAITING = ("max-files-to-rewrite", NOT_IN_PLAN)
"""Codes of files without which a rewrite is not finished: a later one by the same request goes on with them."""


@dataclass(frozen=True)
class Reason:
    """One reason why data files are rewritten together, or left.

    Examples
    --------
    >>> Reason("scan-ratio-low", {"before": 1 / 3, "max_scan_ratio": 1.2})
    Reason(code='scan-ratio-low', parameters={'before': 0.333333, 'max_scan_ratio': 1.2})
    """

    code: str  # ``docs/reference/plans.md`` lists the codes
    parameters: Mapping[str, Any] = field(default_factory=dict)  # figures; fractions are rounded to 6 digits

    def __post_init__(self) -> None:
        # Rounded as in JSON, so that a reason equals itself after a round trip.
        rounded = {name: round(of, 6) if isinstance(of, float) else of for name, of in self.parameters.items()}
        object.__setattr__(self, "parameters", rounded)


def words(reasons: Sequence[Reason]) -> str:
    """Return reasons as text for people. Unknown codes, or codes with other parameters, stay as they are.

    Examples
    --------
    >>> words([Reason("small", {"files": 6, "min_file_size_bytes": 1000}), Reason("deletes", {"files": 1})])
    '6 files below min-file-size-bytes 1,000, 1 file with deletes above delete-file-threshold or \
delete-ratio-threshold'
    >>> spec = Reason("other-spec", {"files": 2, "spec_id": 0, "new_spec_id": 1})
    >>> words([spec, Reason("split-group", {"number": 1, "of": 3, "max_file_group_size_bytes": 5000})])
    '2 files of partition spec 0; new files are of 1; part 1 of 3, split by max-file-group-size-bytes 5,000'
    >>> figures = {"before": 217e6, "attainable": 123e6, "max_scan_ratio": 1.2, "over": "columns", "not_counted": {}}
    >>> words([Reason("scan-ratio", {**figures, "predicted": 147e6})])
    'a filter costs 217.0 MB, too much by max-scan-ratio 1.2 (attainable: 123.0 MB): expected to cost 147.0 MB after'
    >>> words([Reason("gain-too-small", {**figures, "over": "queries", "not_counted": {"a": "none"}})])
    'a query of the workload costs 217.0 MB, too much by max-scan-ratio 1.2 (attainable: 123.0 MB), but no rewrite \
saves enough within the cap of 17 written bytes for each added byte; columns not counted, because new files get no \
bounds for them unless metrics-check is fix: a (metrics mode none)'
    >>> words([Reason("settled")])
    'unchanged since a rewrite by the same request'
    >>> words([Reason("settled", figures)])
    'unchanged since a rewrite by the same request; a filter costs 217.0 MB, 1.76 times the attainable 123.0 MB'
    >>> words([Reason("no-gain", {"before": 20e6, "predicted": 20.6e6, "over": "columns"})])
    'a filter is not predicted to cost less: 20.0 MB today, 20.6 MB after'
    >>> words([Reason("later", {"n": 1}), Reason("small", {})])
    'later {"n": 1}; small {}'
    """
    try:
        return _known_words(reasons)
    except (KeyError, TypeError, ValueError):
        return "; ".join(f"{each.code} {json.dumps(each.parameters)}" for each in reasons)


def _known_words(reasons: Sequence[Reason]) -> str:
    files = [each for each in reasons if each.code in _OF_FILES]
    parts = [", ".join(map(_words, files)), *(_words(each) for each in reasons if each not in files)]
    new = next((each.parameters["new_spec_id"] for each in files if each.code == "other-spec"), None)
    if new is not None:
        parts.insert(1, f"new files are of {new}")
    return "; ".join(filter(None, parts))


_OF_FILES = ("small", "large", "deletes", "other-spec")
_DELETES = "deletes above delete-file-threshold or delete-ratio-threshold"
_WORDS = {
    "rewrite-all": "rewrite-all is true",
    "small": "{several} below min-file-size-bytes {min_file_size_bytes:,}",
    "large": "{several} above max-file-size-bytes {max_file_size_bytes:,}",
    "deletes": f"{{several}} with {_DELETES}",
    "other-spec": "{several} of partition spec {spec_id}",
    "scan-ratio": "{ratio}: expected to cost {after} after{without}",
    "split-group": "part {number:,} of {of:,}, split by {bounds}",
    "file-limit": "{files:,} of its {of:,} files, because max-files-to-rewrite is {max_files_to_rewrite:,}",
    "no-rows": "no rows by their manifest entries, so filters skip them, too",
    "young": "younger than min-age-seconds {min_age_seconds:,}",
    "settled": "unchanged since a rewrite by the same request{ratio}{without}",
    "already-written": "written by an unfinished rewrite by the same request, which goes on with the other files",
    "too-few-small": "below min-file-size-bytes {min_file_size_bytes:,}, but fewer than min-input-files "
    "{min_input_files:,} and together at most target-file-size-bytes {target_file_size_bytes:,}, or a rewrite would "
    "not reduce their number",
    "size-in-range": "size between min-file-size-bytes {min_file_size_bytes:,} and max-file-size-bytes "
    f"{{max_file_size_bytes:,}}, and no {_DELETES}",
    "other-spec-unknown": "of another partition spec than new files, so the gain of a rewrite is "
    "unknown: set rewrite-old-specs to rewrite them",
    "scan-ratio-low": "{filter} costs {before} today and would cost {attainable} after a full rewrite{too_little}"
    "{without}",
    "gain-too-small": "{ratio}, but no rewrite saves enough within the cap of 17 written bytes for each added "
    "byte{without}",
    "not-worth-adding": "adding them to the rewrite would save too little for their bytes",
    "max-files-to-rewrite": "max-files-to-rewrite is {max_files_to_rewrite:,}",
    NOT_IN_PLAN: "not in the given plan",
    "no-gain": "{filter} is not predicted to cost less: {before} today, {after} after",
}


def _words(reason: Reason) -> str:
    of = dict(reason.parameters)
    missing = ", ".join(f"{name} (metrics mode {mode})" for name, mode in of.get("not_counted", {}).items())
    without = f"; columns not counted, because new files get no bounds for them unless metrics-check is fix: {missing}"
    filter_ = "a query of the workload" if of.get("over") == QUERIES else "a filter"
    ratio = ""
    if reason.code == "settled" and of.get("attainable"):
        times = of["before"] / of["attainable"]
        ratio = f"; {filter_} costs {size(of['before'])}, {times:.2f} times the attainable {size(of['attainable'])}"
    elif "attainable" in of:
        ratio = (
            f"{filter_} costs {size(of['before'])}, too much by max-scan-ratio {of['max_scan_ratio']:g} "
            f"(attainable: {size(of['attainable'])})"
        )
    too_little = ", where opening a file counts as 4 MiB by default: set rewrite-all to rewrite nevertheless"
    if reason.code == "scan-ratio-low" and of["attainable"] <= of["before"]:
        too_little = ": too small a gain by max-scan-ratio {max_scan_ratio:g} and min-input-files".format(**of)
    cost = {name: size(of.pop(name)) for name in ("before", "attainable", "predicted") if name in of}
    bounds = " and ".join(f"{key.replace('_', '-')} {of[key]:,}" for key in of if key.startswith("max_file_group"))
    return _WORDS[reason.code].format(
        **of,
        ratio=ratio,
        several=count(of.get("files", 0), "file"),
        too_little=too_little,
        filter=filter_,
        before=cost.get("before"),
        attainable=cost.get("attainable"),
        after=cost.get("predicted"),
        bounds=bounds,
        without=without if missing else "",
    )


ERROR = 0.05
"""The error of predictions: a smaller gain or loss counts as none."""
DRY_RUN = "Dry run: nothing was written."


def costs_less(before: float, predicted: float) -> bool:
    """Return whether filters are predicted to cost at least 5% less on average."""
    return predicted <= (1 - ERROR) * before


def left_out(table: str, partitioned: Sequence[str], alike: Sequence[str]) -> list[str]:
    """Return messages about ignored clustering columns: partition columns, and columns with one value."""
    why = "it has only one value, only NULLs, or long values with the same prefix"
    return [
        *(f"Ignored clustering column {each} of {table}: the table is partitioned by it." for each in partitioned),
        *(f"Ignored clustering column {each} of {table}: {why}." for each in alike),
    ]


def above_limit(partitions: Iterable[tuple[Reason, float]]) -> list[str]:
    """Return a message about filters that cost more than ``max-scan-ratio`` after a rewrite, and more than was planned.

    Given are for each partition the reason ``scan-ratio`` of its rewrite, and by the sample a filter's cost after it.

    Examples
    --------
    >>> figures = {"before": 738e3, "attainable": 501e3, "predicted": 512e3, "max_scan_ratio": 1.2}
    >>> above_limit([(Reason("scan-ratio", figures), 694e3)])
    ['A filter is expected to cost 694.0 kB after this rewrite, 1.39 times the attainable 501.0 kB and more than \
max-scan-ratio 1.2 allows: by the sample, rows gain less than bounds tell.']
    >>> above_limit([(Reason("scan-ratio", figures), 520e3)])
    []
    """
    above = [
        (of, after)
        for of, after in ((reason.parameters, after) for reason, after in partitions)
        if after > max(of["max_scan_ratio"] * of["attainable"], (1 + ERROR) * of["predicted"])
    ]
    if not above:
        return []
    after, attainable = sum(after for _, after in above), sum(of["attainable"] for of, _ in above)
    times = f", {after / attainable:.2f} times the attainable {size(attainable)}" if attainable else ""
    return [
        f"A filter is expected to cost {size(after)} after this rewrite{times} and more than max-scan-ratio "
        f"{above[0][0]['max_scan_ratio']:g} allows: by the sample, rows gain less than bounds tell."
    ]


def who_pays(scans: Sequence[ColumnScan], before: TableFiles, after: TableFiles, open_cost: int) -> list[str]:
    """Return a message about columns whose filters cost over 5% more after a rewrite; None without such columns.

    Examples
    --------
    >>> of = TableFiles(64, 640_000_000)
    >>> scans = [ColumnScan("ts", 0.02, 0.14, None, 1, 9), ColumnScan("user_id", 1.0, 0.125, None, 64, 8)]
    >>> who_pays(scans, of, of, 4_000_000)
    ['ts pays for user_id: a filter on ts reads 89.6 MB in 9 of 64 files (was 12.8 MB in 1 of 64 files), a filter on \
user_id reads 80.0 MB in 8 of 64 files (was 640.0 MB in 64 of 64 files).']
    >>> a_little_more = ColumnScan("ts", 0.50, 0.52, None, 32, 33)
    >>> who_pays([a_little_more, scans[1]], of, of, 4_000_000)
    []
    >>> small = TableFiles(4, 1_500_000), TableFiles(24, 1_580_000)
    >>> who_pays([ColumnScan(name, 1.0, 0.21, None, 4, 5) for name in ("user", "ts")], *small, 4_000_000)
    ['A filter on user reads 331.8 kB in 5 of 24 files (was 1.5 MB in 4 of 4 files), a filter on ts reads 331.8 kB in \
5 of 24 files (was 1.5 MB in 4 of 4 files): filters on user, ts cost more, because opening a file counts as 4.0 MB.']
    """

    def changes(scan: ColumnScan) -> float:
        known = scan.before, scan.predicted, scan.files_before, scan.files_predicted
        if None in known:
            return 1.0
        share, new_share, files, new_files = (each or 0.0 for each in known)
        cost = share * before.bytes + open_cost * files
        return (new_share * after.bytes + open_cost * new_files) / cost if cost else 1.0

    losing = [each for each in scans if changes(each) > 1 + ERROR]
    gaining = [each for each in scans if changes(each) < 1 - ERROR]
    if not losing:
        return []
    names, ending = ", ".join(each.column for each in losing), "s" if len(losing) == 1 else ""
    reads = ", ".join(each.text(before, after) for each in (*losing, *gaining))
    if gaining:
        return [f"{names} pay{ending} for {', '.join(each.column for each in gaining)}: {reads}."]
    no_more_bytes = all((each.predicted or 0) * after.bytes <= (each.before or 0) * before.bytes for each in losing)
    why = f", because opening a file counts as {size(open_cost)}" if no_more_bytes else ""
    return [f"{reads[0].upper()}{reads[1:]}: filters on {names} cost more{why}."]


def one_file_each(groups: Sequence[tuple[str, int, int]], target: int) -> list[str]:
    """Return the hint of :func:`.one_file` if each file group of a plan is a partition that becomes one file.

    Groups are given by partition, number of expected files, and bytes.
    """
    is_one_each = len({partition for partition, _, _ in groups}) == len(groups) > 0
    if not is_one_each or any(files > 1 for _, files, _ in groups):
        return []
    return one_file(len(groups), sum(size for _, _, size in groups), target)


def why_nothing_of(table: str, left: Mapping[str, int]) -> str:
    """Return why nothing is rewritten: the three most frequent reasons for skipping data files.

    Examples
    --------
    >>> why_nothing_of("db.t", {"small": 1200, "younger than min-age-seconds 3,600": 1})
    'Nothing to rewrite in db.t: 1,200 data files are skipped (small), 1 data file is skipped (younger than \
min-age-seconds 3,600).'
    >>> why_nothing_of("db.t", {})
    'Nothing to rewrite in db.t: no data file can hold rows that match the filter.'
    """
    if not left:
        return f"Nothing to rewrite in {table}: no data file can hold rows that match the filter."
    most = sorted(left.items(), key=lambda each: (-each[1], each[0]))
    parts = [f"{count(n, 'data file is', 'data files are')} skipped ({reason})" for reason, n in most[:3]]
    parts += [f"{sum(files for _, files in most[3:]):,} for other reasons"] if most[3:] else []
    return f"Nothing to rewrite in {table}: {', '.join(parts)}."


def other_layout(table: str, last: str, ours: str, files: int, all_files: int) -> str:
    """Return the warning that a part of the table gets another layout than the rest."""
    ours = f"this rewrite lays out {files:,} of {all_files:,} data files by {ours}"
    return f"The last layout of {table} was by {last}; {ours}."
