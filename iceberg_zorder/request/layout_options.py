"""The options of the zorder strategy itself; those of ``rewrite_data_files`` belong to Iceberg.

================  ============================  ===========================  ==========================================
option            domain                        default                      what it does
================  ============================  ===========================  ==========================================
cuts              adaptive, even                adaptive                     how rows are cut into files: where boxes
                                                                             are tight, or evenly along the curve
column-weights    a=3,b=1: numbers in           1 each                       with adaptive cuts, how much a column's
                  (0, 1000000]                                               filters count against the others'
size-tolerance    number in [0, 1)              0.25, with a workload 0.5    with adaptive cuts, how far a file's rows
                                                                             may lie from the mean, as a share of it
sample-rows       integer in [1, 2147483647]    1,000 per output file, at    rows to sample: more make file sizes
                                                least 50,000, at most        more even, and take longer
                                                1,000,000
sample-seed       integer in [-2^63, 2^63)      0                            which rows are sampled
boundaries        integer in [1, 65536]         4096                         boundaries per column: more tell close
                                                                             values apart, and make the layout larger
metrics-check     warn, fail, fix               warn                         what is done about columns whose lower or
                                                                             upper bounds are not kept, or cut short
dry-run           true, false                   false                        plan, sample and predict, and write nothing
workload          a file, or JSON               none                         queries that adaptive cuts are made for, as
                                                                             the command ``workload`` writes them
workload-share    number in [0, 1]              0.95                         how much these queries count against others
                                                                             that nobody has foreseen
================  ============================  ===========================  ==========================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import MAX_BOUNDARIES
from iceberg_zorder.layout.box_tree import ADAPTIVE
from iceberg_zorder.layout.cuts import EVEN
from iceberg_zorder.layout.grow import WORKLOAD_SHARE, WORKLOAD_TOLERANCE
from iceberg_zorder.request.metrics_check import FAIL, FIX, WARN
from iceberg_zorder.request.sort_order import parse_column_weights

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
# Longer numbers lie outside every domain, and Python refuses to read very long ones.
_INTEGER = re.compile(r"[+-]?0*[0-9]{1,20}")
_SAMPLE_ROWS_PER_FILE = 1_000
_SAMPLE_ROWS_AT_LEAST = 50_000
_SAMPLE_ROWS_AT_MOST = 1_000_000


@dataclass(frozen=True)
class ZOrderOptions:
    """Options of a layout, checked.

    Parameters
    ----------
    cuts : str
        The kind of cuts.
    column_weights : tuple of (tuple of str, float)
        Parts of the names of columns, and their weights.
    size_tolerance : float
        How far a file's share of the rows may lie from the mean.
    sample_rows : int or None
        Rows to sample, if set.
    sample_seed : int
        Seed of the sample.
    boundaries : int
        Wanted boundaries per column.
    metrics_check : str
        What is done about columns whose lower/upper bounds do not serve.
    dry_run : bool
        Whether nothing is to be written.
    workload : str or None
        The queries that files are cut for: JSON, or where it lies.
    workload_share : float
        The share of the queries that the workload knows.
    """

    cuts: str = ADAPTIVE
    column_weights: tuple[tuple[tuple[str, ...], float], ...] = ()
    size_tolerance: float = 0.25
    sample_rows: int | None = None
    sample_seed: int = 0
    boundaries: int = 4096
    metrics_check: str = WARN
    dry_run: bool = False
    workload: str | None = None
    workload_share: float = WORKLOAD_SHARE

    def sample_rows_for(self, files: int) -> int:
        """Tell how many rows to sample for a plan of so many output files.

        Examples
        --------
        >>> [ZOrderOptions().sample_rows_for(files) for files in (1, 64, 5000)]
        [50000, 64000, 1000000]
        """
        if self.sample_rows is not None:
            return self.sample_rows
        return min(_SAMPLE_ROWS_AT_MOST, max(_SAMPLE_ROWS_AT_LEAST, _SAMPLE_ROWS_PER_FILE * files))


def zorder_options(options: Mapping[str, str]) -> ZOrderOptions:
    """Read our own options.

    Examples
    --------
    >>> zorder_options({"boundaries": "255", "rewrite-all": "true"})
    ZOrderOptions(cuts='adaptive', column_weights=(), size_tolerance=0.25, sample_rows=None, sample_seed=0, \
boundaries=255, metrics_check='warn', dry_run=False, workload=None, workload_share=0.95)
    >>> zorder_options({"boundaries": "0"})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot set boundaries to '0', because it must be an integer in [1, 65536]
    """
    cuts = options.get("cuts", ADAPTIVE)
    if cuts not in (ADAPTIVE, EVEN):
        raise InvalidInputError(f"Cannot set cuts to '{cuts}', because it must be '{ADAPTIVE}' or '{EVEN}'")
    workload = options.get("workload")
    if workload is None and "workload-share" in options:
        raise InvalidInputError("Cannot use option workload-share, because option workload is not given")
    if workload is not None and cuts == EVEN:
        raise InvalidInputError(
            f"Cannot use option workload with cuts '{EVEN}', because only adaptive cuts follow queries"
        )
    return ZOrderOptions(
        cuts,
        parse_column_weights(options["column-weights"]) if "column-weights" in options else (),
        _tolerance(options["size-tolerance"]) if "size-tolerance" in options else _usual_tolerance(workload),
        _integer(options, "sample-rows", 1, 2**31 - 1) if "sample-rows" in options else None,
        _integer(options, "sample-seed", -(2**63), 2**63 - 1) if "sample-seed" in options else 0,
        _integer(options, "boundaries", 1, MAX_BOUNDARIES) if "boundaries" in options else 4096,
        _metrics_check(options.get("metrics-check", WARN)),
        _boolean(options, "dry-run"),
        workload,
        _share(options["workload-share"]) if "workload-share" in options else WORKLOAD_SHARE,
    )


def _usual_tolerance(workload: str | None) -> float:
    return 0.25 if workload is None else WORKLOAD_TOLERANCE


def _tolerance(text: str) -> float:
    if not _NUMBER.fullmatch(text) or not 0 <= float(text) < 1:
        raise InvalidInputError(f"Cannot set size-tolerance to '{text}', because it must be a number in [0, 1)")
    return float(text)


def _share(text: str) -> float:
    if not _NUMBER.fullmatch(text) or not 0 <= float(text) <= 1:
        raise InvalidInputError(f"Cannot set workload-share to '{text}', because it must be a number in [0, 1]")
    return float(text)


def _metrics_check(text: str) -> str:
    if text.lower() not in (WARN, FAIL, FIX):
        raise InvalidInputError(
            f"Cannot set metrics-check to '{text}', because it must be '{WARN}', '{FAIL}' or '{FIX}'"
        )
    return text.lower()


def _boolean(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false")
    if text.lower() not in ("true", "false"):
        raise InvalidInputError(f"Cannot set {name} to '{text}', because it must be true or false")
    return text.lower() == "true"


def _integer(options: Mapping[str, str], name: str, least: int, most: int) -> int:
    text = options[name]
    if not _INTEGER.fullmatch(text) or not least <= int(text) <= most:
        raise InvalidInputError(f"Cannot set {name} to '{text}', because it must be an integer in [{least}, {most}]")
    return int(text)
