"""Why data files are rewritten, or left: a code with parameters, which both engines read, and its words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

COLUMNS, QUERIES = "columns", "queries"
"""What scan fractions are averaged over."""
OVER = {COLUMNS: "the columns", QUERIES: "the queries of the workload"}
"""The same in words."""
NOT_IN_PLAN = "not-in-plan"
WAITING = ("young", "max-files-to-rewrite", NOT_IN_PLAN)
"""Codes of files that are left for a later rewrite by the same request."""


@dataclass(frozen=True)
class Reason:
    """One reason why data files are rewritten together, or left.

    Parameters
    ----------
    code : str
        What it is; ``docs/options.md`` lists the codes.
    parameters : Mapping of str to object, optional
        Its figures; fractions are rounded to 6 digits.

    Examples
    --------
    >>> Reason("scan-ratio-low", {"today": 1 / 3, "max_scan_ratio": 1.2})
    Reason(code='scan-ratio-low', parameters={'today': 0.333333, 'max_scan_ratio': 1.2})
    """

    code: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # As JSON has them, so that a reason equals itself once it is read.
        rounded = {name: round(of, 6) if isinstance(of, float) else of for name, of in self.parameters.items()}
        object.__setattr__(self, "parameters", rounded)


def words(reasons: Sequence[Reason]) -> str:
    """Write reasons for people; those of a later version, or with other parameters, by their codes.

    Examples
    --------
    >>> words([Reason("small", {"files": 6, "min_file_size_bytes": 1000}), Reason("deletes", {"files": 1})])
    '6 files below min-file-size-bytes 1,000, 1 files with deletes above delete-file-threshold or \
delete-ratio-threshold'
    >>> spec = Reason("other-spec", {"files": 2, "spec_id": 0, "new_spec_id": 1})
    >>> words([spec, Reason("part", {"number": 1, "of": 3, "max_file_group_size_bytes": 5000})])
    '2 files of partition spec 0; new files are of 1; part 1 of 3, cut for max-file-group-size-bytes 5,000'
    >>> figures = {"today": 0.217, "attainable": 0.123, "max_scan_ratio": 1.2, "over": "columns", "not_counted": {}}
    >>> words([Reason("scan-ratio", {**figures, "expected": 0.147})])
    'scan fraction 21.7% is above max-scan-ratio 1.2 times the attainable 12.3%: expected to be 14.7% afterwards'
    >>> words([Reason("over-budget", {**figures, "over": "queries", "not_counted": {"a": "none"}})])
    'scan fraction on average over the queries of the workload 21.7% is above max-scan-ratio 1.2 times the attainable \
12.3%, but no rewrite would gain enough for its bytes, of which it may take 17 for each that came since; not counted, \
because new files get no bounds of them unless metrics-check is fix: a (metrics mode none)'
    >>> words([Reason("no-gain", {"before": 0.2, "predicted": 0.206, "over": "columns"})])
    'a rewrite is not predicted to read less: scan fraction on average over the columns 20.0% today, 20.6% after; \
rewrite-all rewrites it all the same'
    >>> words([Reason("later", {"n": 1}), Reason("small", {})])
    'later {"n": 1}; small {}'
    """
    try:
        return _known_words(reasons)
    except (KeyError, TypeError, ValueError):
        return "; ".join(f"{each.code} {json.dumps(each.parameters)}" for each in reasons)


def _known_words(reasons: Sequence[Reason]) -> str:
    files = [each for each in reasons if each.code in _OF_FILES]
    said = [", ".join(map(_words, files)), *(_words(each) for each in reasons if each not in files)]
    new = next((each.parameters["new_spec_id"] for each in files if each.code == "other-spec"), None)
    if new is not None:
        said.insert(1, f"new files are of {new}")
    return "; ".join(filter(None, said))


_OF_FILES = ("small", "large", "deletes", "other-spec")
_DELETES = "deletes above delete-file-threshold or delete-ratio-threshold"
_WORDS = {
    "rewrite-all": "rewrite-all is true",
    "small": "{files:,} files below min-file-size-bytes {min_file_size_bytes:,}",
    "large": "{files:,} files above max-file-size-bytes {max_file_size_bytes:,}",
    "deletes": f"{{files:,}} files with {_DELETES}",
    "other-spec": "{files:,} files of partition spec {spec_id}",
    "scan-ratio": "{ratio}: expected to be {expected:.1%} afterwards{without}",
    "part": "part {number:,} of {of:,}, cut for {bounds}",
    "limited": "{files:,} of its {of:,} files, for max-files-to-rewrite is {max_files_to_rewrite:,}",
    "young": "younger than min-age-seconds {min_age_seconds:,}",
    "settled": "as a rewrite by the same request left them, and nothing has come since",
    "small-left": "below min-file-size-bytes {min_file_size_bytes:,}, but less than min-input-files "
    "{min_input_files:,} and no more than target-file-size-bytes {target_file_size_bytes:,}, no fewer after a "
    "rewrite, or left so by one with less beside them",
    "in-order": "size between min-file-size-bytes {min_file_size_bytes:,} and max-file-size-bytes "
    f"{{max_file_size_bytes:,}}, and no {_DELETES}",
    "other-spec-unknown": "of another partition spec than new files: what a rewrite would gain is not known, "
    "rewrite-old-specs has it done",
    "scan-ratio-low": "{ratio}{without}",
    "over-budget": "{ratio}, but no rewrite would gain enough for its bytes, of which it may take 17 for each that "
    "came since{without}",
    "others-only": "a rewrite of them with the others would gain too little for its bytes",
    "max-files-to-rewrite": "max-files-to-rewrite is {max_files_to_rewrite:,}",
    NOT_IN_PLAN: "not in the plan that was read",
    "no-gain": "a rewrite is not predicted to read less: scan fraction on average over {averaged} {before:.1%} today, "
    "{predicted:.1%} after; rewrite-all rewrites it all the same",
}


def _words(reason: Reason) -> str:
    of = reason.parameters
    averaged = OVER.get(of.get("over", COLUMNS), "")
    missing = ", ".join(f"{name} (metrics mode {mode})" for name, mode in of.get("not_counted", {}).items())
    without = f"; not counted, because new files get no bounds of them unless metrics-check is fix: {missing}"
    ratio = ""
    if "attainable" in of:
        average = "" if of["over"] == COLUMNS else f" on average over {averaged}"
        how = "at most" if reason.code == "scan-ratio-low" else "above"
        ratio = (
            f"scan fraction{average} {of['today']:.1%} is {how} max-scan-ratio {of['max_scan_ratio']:g} times the "
            f"attainable {of['attainable']:.1%}"
        )
    bounds = " and ".join(f"{key.replace('_', '-')} {of[key]:,}" for key in of if key.startswith("max_file_group"))
    return _WORDS[reason.code].format(
        **of, ratio=ratio, averaged=averaged, bounds=bounds, without=without if missing else ""
    )
