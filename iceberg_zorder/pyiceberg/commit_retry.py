"""How often and how long a commit is tried again: the table's ``commit.retry.*`` properties."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping

from pyiceberg.table import TableProperties
from pyiceberg.utils.properties import property_as_int


def attempts(properties: Mapping[str, str]) -> Iterator[int]:
    """Count the attempts that a table allows, and wait before each but the first.

    Parameters
    ----------
    properties : Mapping of str to str
        The table's properties.

    Yields
    ------
    int
        The attempt's number, from 0 on; at least one.

    Examples
    --------
    >>> list(attempts({"commit.retry.num-retries": "2", "commit.retry.min-wait-ms": "1"}))
    [0, 1, 2]
    >>> list(attempts({"commit.retry.total-timeout-ms": "0"}))
    [0]
    """
    retries = _property(properties, TableProperties.COMMIT_NUM_RETRIES, TableProperties.COMMIT_NUM_RETRIES_DEFAULT)
    least = _property(
        properties, TableProperties.COMMIT_MIN_RETRY_WAIT_MS, TableProperties.COMMIT_MIN_RETRY_WAIT_MS_DEFAULT
    )
    most = _property(
        properties, TableProperties.COMMIT_MAX_RETRY_WAIT_MS, TableProperties.COMMIT_MAX_RETRY_WAIT_MS_DEFAULT
    )
    total = _property(
        properties, TableProperties.COMMIT_TOTAL_RETRY_TIME_MS, TableProperties.COMMIT_TOTAL_RETRY_TIME_MS_DEFAULT
    )
    begun = time.monotonic()
    yield 0
    for retry in range(retries):
        if (time.monotonic() - begun) * 1000 >= total:
            return
        wait = min(least * 2**retry, most)
        time.sleep((wait + random.uniform(0, wait / 10)) / 1000)  # noqa: S311 - spreads the writers, hides nothing
        yield retry + 1


def _property(properties: Mapping[str, str], name: str, default: int) -> int:
    # A negative wait would make sleep fail in the middle of a commit.
    return max(0, property_as_int(dict(properties), name, default) or 0)
