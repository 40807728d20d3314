"""Expected CPU seconds of rewrites and queries, at rates measured on TPC-H's lineitem."""

from __future__ import annotations

# Per byte of data files, which are compressed by zstd; of one core of an AMD EPYC.
# lineitem of scale 1 (6,001,215 rows, all columns) in 12 files, by three columns: 12.3 seconds for 179 MB.
_PYICEBERG = 12.3 / 179_255_616
# 4,000,658 rows of lineitem, by two columns: 21.1 seconds for 105 MB; docs/benchmarks/peers.md, Costs.
_SPARK = 21.1 / 104_616_567
READ = 4.4 / 179_255_616
"""CPU seconds to read a byte: PyIceberg's scan of the same 12 files, all columns, took 4.4."""


def of_rewrite(size: int) -> dict[str, float]:
    """Return the expected CPU seconds of a rewrite of ``size`` bytes, by engine.

    Examples
    --------
    >>> {engine: round(seconds) for engine, seconds in of_rewrite(10**9).items()}
    {'pyiceberg': 69, 'spark': 202}
    """
    return {"pyiceberg": _PYICEBERG * size, "spark": _SPARK * size}
