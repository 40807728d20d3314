"""What is said of the scan fractions of a rewrite, in the words of both engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iceberg_zorder.request.reasons import COLUMNS, OVER

ERROR = 0.05
"""How far predictions may be off: what gains or loses no more is not told from what gains nothing."""
_NO_MORE = 0.01
DRY_RUN = "Dry run: nothing was written."


def reads_less(before: float, predicted: float) -> bool:
    """Return whether filters are predicted to read at least 5% less on average."""
    return predicted <= (1 - ERROR) * before


def reads_no_more(before: float, after: float) -> bool:
    """Return whether filters read no more on average, with a tolerance of 1%.

    Examples
    --------
    >>> reads_no_more(0.5, 0.504), reads_no_more(0.5, 0.51)
    (True, False)
    """
    return after <= (1 + _NO_MORE) * before


def why_nothing(table: str, groups: int, before: float, predicted: float, *, over: str = COLUMNS) -> str:
    """Say why all file groups are left."""
    return (
        f"Nothing to rewrite in {table}: a rewrite of its {groups:,} file groups "
        f"is not predicted to read less: scan fraction on average over {OVER[over]} {_percent(before)} today, "
        f"{_percent(predicted)} after. To rewrite them anyway, set option rewrite-all to true."
    )


def left_out(table: str, partitioned: Sequence[str], alike: Sequence[str]) -> list[str]:
    """Return messages about clustering columns that do not count: partition columns, and columns of one value."""
    why = "it has one value only, only NULLs, or long values that begin alike"
    return [
        *(f"Ignored clustering column {each} of {table}: the table is partitioned by it." for each in partitioned),
        *(f"Left clustering column {each} of {table} out: {why}." for each in alike),
    ]


def gains_and_losses(
    before: Mapping[str, float],
    predicted: Mapping[str, float],
    means: tuple[float, float],
    *,
    rewrite_all: bool,
    over: str = COLUMNS,
) -> list[str]:
    """Return messages about columns that get worse while others gain, and about a worse average.

    Examples
    --------
    >>> for sentence in gains_and_losses({"a": 1, "b": 0.1}, {"a": 0.2, "b": 0.3}, (0.55, 0.25), rewrite_all=True):
    ...     print(sentence)
    Column b pays for the others: filters on it will read 30.0% of these files, 10.0% today; on average over the \
columns 25.0%, 55.0% today.
    >>> gains_and_losses({"a": 0.5}, {"a": 1}, (0.5, 1), rewrite_all=True)[1]
    'The rewrite makes the scan fraction worse on average over the columns: 100.0%, 50.0% today.'
    >>> gains_and_losses({"a": 0.7471}, {"a": 0.7472}, (0.7471, 0.7472), rewrite_all=True)
    []
    """
    mean_before, mean = means
    pays = [
        f"Column {name} pays for the others: filters on it will read {_percent(after)} of these files, "
        f"{_percent(before[name])} today"
        for name, after in predicted.items()
        if name in before and after > (1 + ERROR) * before[name]
    ]
    if pays:
        pays[-1] += f"; on average over {OVER[over]} {_percent(mean)}, {_percent(mean_before)} today"
    # Where both read the same when rounded, no figure would show what is worse.
    is_worse = mean > mean_before and _percent(mean) != _percent(mean_before)
    if rewrite_all and is_worse:
        pays.append(
            f"The rewrite makes the scan fraction worse on average over {OVER[over]}: {_percent(mean)}, "
            f"{_percent(mean_before)} today"
        )
    return [f"{each}." for each in pays]


def why_nothing_of(table: str, left: Mapping[str, int]) -> str:
    """Return why nothing is rewritten: the three reasons that most data files are left for.

    Examples
    --------
    >>> why_nothing_of("db.t", {"small": 1200, "younger than min-age-seconds 3,600": 2})
    'Nothing to rewrite in db.t: 1,200 data files are left (small), 2 data files are left (younger than \
min-age-seconds 3,600). To rewrite them anyway, set option rewrite-all to true, and lower min-age-seconds.'
    >>> why_nothing_of("db.t", {})
    'Nothing to rewrite in db.t: no data file can hold rows that match the filter.'
    """
    if not left:
        return f"Nothing to rewrite in {table}: no data file can hold rows that match the filter."
    most = sorted(left.items(), key=lambda each: (-each[1], each[0]))
    told = [f"{files:,} data files are left ({reason})" for reason, files in most[:3]]
    told += [f"{sum(files for _, files in most[3:]):,} for other reasons"] if most[3:] else []
    lower = ", and lower min-age-seconds" if any(reason.startswith("younger") for reason in left) else ""
    how = f"To rewrite them anyway, set option rewrite-all to true{lower}."
    return f"Nothing to rewrite in {table}: {', '.join(told)}. {how}"


def other_layout(table: str, last: str, ours: str, files: int, all_files: int) -> str:
    """Return the warning that a part of a table gets another layout than the rest has."""
    return f"The last layout of {table} was by {last}, this one of {files:,} of {all_files:,} data files is by {ours}."


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}%"
