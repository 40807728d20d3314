"""Choose the engine that rewrites a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.observation import TableName
from iceberg_zorder.maintain.pass_report import Done
from iceberg_zorder.maintain.policy.settings import FollowUp, TableSettings

LARGEST_WITHOUT_SPARK = 50 * 10**9
"""Above so many bytes ``auto`` takes Spark, if there is one."""
_INSTALL = "install it with pip install '.[spark]'"


class SparkWork(Protocol):
    """What Spark does for maintenance; see :class:`iceberg_zorder.spark.maintenance.SparkMaintenance`."""

    def rewrite(
        self, name: TableName, settings: TableSettings, now: datetime, files: int | None, told: Mapping[str, str]
    ) -> Done:
        """Rewrite so many data files at most, those first that save most; raises as a rewrite does."""

    def follow_up(self, name: TableName, what: FollowUp, now: datetime) -> str:
        """Carry out a follow-up, and say what it did; raises RewriteFailedError."""


def choose_engine(asked: str, size: int, beyond: Collection[str], *, has_spark: bool) -> str:
    """Choose the engine for a rewrite.

    Examples
    --------
    >>> choose_engine("auto", 10**9, (), has_spark=True)
    'pyiceberg'
    >>> choose_engine("auto", 10**9, {"ORC"}, has_spark=True)
    'spark'
    >>> choose_engine("auto", 10**12, (), has_spark=False)
    'pyiceberg'
    """
    if asked == "spark" and not has_spark:
        raise InvalidInputError(f"Cannot use engine spark, because PySpark is not installed: {_INSTALL}")
    if beyond and (asked == "pyiceberg" or not has_spark):
        instead = f"take Spark, {_INSTALL}" if asked == "auto" else "set engine to auto or spark"
        raise InvalidInputError(f"Cannot rewrite with PyIceberg, because it has no {min(beyond)}: {instead}")
    if asked != "auto":
        return asked
    return "spark" if beyond or (has_spark and size > LARGEST_WITHOUT_SPARK) else "pyiceberg"
