"""A call of Spark in a thread of its own, which can be cancelled from the main one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from contextlib import AbstractContextManager
from threading import Lock, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession as SparkSession

_T = TypeVar("_T")
_JOB_GROUP = "iceberg-zorder"
_SECONDS_BETWEEN_CANCELLATIONS = 0.1


class SparkCall(Generic[_T]):
    """A call that has begun.

    Signals reach the main thread, and their exceptions would tear apart what it has to say to the JVM at that moment:
    each thread has a connection of its own, for one request and its answer after the other. So the main thread only
    waits.
    """

    def __init__(self, session: AbstractContextManager[SparkSession], call: Callable[[SparkSession], _T]) -> None:
        self._session = session
        self._call = call
        self._result: Future[_T] = Future()
        self._lock = Lock()
        self._spark: SparkSession | None = None
        self._is_begun = False
        self._is_cancelled = False
        # A command that was told to end while Spark starts does not wait for that: there is nothing yet to clean up.
        Thread(target=self._run, daemon=True).start()

    def result(self) -> _T:
        """Wait for the call, and for Spark to stop; raises whatever they raise."""
        return self._result.result()

    def cancel(self) -> _T | None:
        """Cancel the call, and wait until it has cleaned up and Spark has stopped."""
        with self._lock:
            self._is_cancelled = True
            has_begun = self._is_begun
        if not has_begun and not self._result.done():
            return None
        Thread(target=self._cancel_jobs, daemon=True).start()
        return self._result.result()

    def _cancel_jobs(self) -> None:
        """Cancel jobs until the call is over, also those that start later: between two there is none to cancel."""
        while not self._result.done():
            with self._lock:
                if self._spark is not None:
                    self._spark.sparkContext.cancelJobGroup(_JOB_GROUP)
            wait([self._result], timeout=_SECONDS_BETWEEN_CANCELLATIONS)

    def _run(self) -> None:
        try:
            with self._session as spark:
                result = self._in_job_group(spark)
        except BaseException as error:
            self._result.set_exception(error)
        else:
            self._result.set_result(result)

    def _in_job_group(self, spark: SparkSession) -> _T:
        spark.sparkContext.setJobGroup(_JOB_GROUP, "iceberg-zorder")
        with self._lock:
            if self._is_cancelled:
                raise CancelledError
            self._is_begun = True
            self._spark = spark
        try:
            return self._call(spark)
        finally:
            # Of a Spark that is being stopped nothing can be asked.
            with self._lock:
                self._spark = None
