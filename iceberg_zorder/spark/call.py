"""CALLs of the plugin: their text, their failures, and a thread of its own that can be cancelled from the main one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import AbstractContextManager
from threading import Lock, Thread
from typing import Generic, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException, PySparkException
from pyspark.sql import Row
from pyspark.sql import SparkSession as SparkSession

from iceberg_zorder.errors import (
    InvalidInputError,
    RewriteConflictError,
    RewriteFailedError,
    StalePlanError,
    UnknownOutcomeError,
)
from iceberg_zorder.layout.columns import quoted_identifier, quoted_text
from iceberg_zorder.rewrite.options import name_parts

# The class of a Java exception that Spark Connect has no Python class for.
_JAVA_CLASS = re.compile(r"^\([\w.$]+\) ")


def failure_message(error: Exception) -> str:
    """Tell the cause of a failure.

    Examples
    --------
    >>> failure_message(ValueError("Cannot rewrite db.t, because it is gone"))
    'Cannot rewrite db.t, because it is gone'
    """
    messages = [message for message in _messages(error) if message]
    for message in messages:
        if message.startswith("Cannot ") and ", because " in message:
            return message
    return messages[-1] if messages else type(error).__name__


def rewrite_error(error: Exception) -> InvalidInputError | RewriteFailedError:
    """Find the error that tells whether a rewrite had begun, and what became of it.

    Over Spark Connect there is little more than the message, so that it is what decides.

    Examples
    --------
    >>> rewrite_error(RuntimeError("Cannot tell whether the rewrite of db.t was committed, because it is silent"))
    UnknownOutcomeError('Cannot tell whether the rewrite of db.t was committed, because it is silent')
    >>> rewrite_error(RuntimeError("Cannot execute the plan of db.t, because its schema has changed since"))
    StalePlanError('Cannot execute the plan of db.t, because its schema has changed since')
    >>> rewrite_error(RuntimeError("Cannot sample db.t, because a file does not exist. Nothing was written."))
    RewriteFailedError('Cannot sample db.t, because a file does not exist. Nothing was written.')
    """
    message = failure_message(error)
    if message.startswith("Cannot tell whether "):
        return UnknownOutcomeError(message)
    has_begun = message.startswith(
        ("Cannot complete the rewrite ", "Cannot commit rewrite ", "Cannot remove dangling ")
    )
    if has_begun and "because it conflicted with another operation" in message:
        return RewriteConflictError(message)
    is_refusal = isinstance(error, AnalysisException | ParseException | IllegalArgumentException)
    if message.startswith("Cannot execute the plan "):
        return StalePlanError(message)
    if not has_begun and is_refusal:
        return InvalidInputError(message)
    return RewriteFailedError(message)


def _messages(error: BaseException) -> list[str]:
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    if java is None:
        return [_JAVA_CLASS.sub("", str(error).partition("\n\nJVM stacktrace:")[0].strip())]
    messages = []
    while java is not None:
        message = java.getMessage()
        messages.append(str(message).strip() if message is not None else str(java.toString()))
        java = java.getCause()
    return messages


SESSION_CATALOG = "spark_catalog"
# A dollar before a brace is split off: Spark would put the value of a variable in the place of ${...}.
_NEEDS_CHR = re.compile(r"['\\]|\$(?=\{)")


def string_literal(text: str, *, escaped_string_literals: bool = False) -> str:
    r"""Write a text as an expression of Spark SQL that has this value.

    Examples
    --------
    >>> print(string_literal("name = 'O\\Neil'"))
    'name = \'O\\Neil\''
    >>> print(string_literal("it's", escaped_string_literals=True))
    concat('it', chr(39), 's')
    """
    if not escaped_string_literals:
        return quoted_text(text)
    pieces = []
    start = 0
    for match in _NEEDS_CHR.finditer(text):
        if match.start() > start:
            pieces.append(f"'{text[start : match.start()]}'")
        pieces.append(f"chr({ord(match.group())})")
        start = match.end()
    if start < len(text) or not pieces:
        pieces.append(f"'{text[start:]}'")
    return pieces[0] if len(pieces) == 1 else f"concat({', '.join(pieces)})"


def procedure_call(catalog: str, procedure: str, arguments: Mapping[str, str]) -> str:
    """Write a CALL with named arguments."""
    named = ", ".join(f"{name} => {expression}" for name, expression in arguments.items())
    return f"CALL {quoted_identifier(catalog)}.system.{procedure}({named})"


def rows_of(spark: SparkSession, call: str) -> list[Row]:
    """Run a CALL, and return the rows that it gives."""
    try:
        return spark.sql(call).collect()
    except (PySparkException, Py4JError) as error:
        raise rewrite_error(error) from error


def catalog_of(spark: SparkSession, table: str, act: str = "rewrite") -> str:
    """Find the catalog of a table: the first part of its name if that is one, else the current catalog."""
    first, *rest = name_parts(table)
    if rest and (first == SESSION_CATALOG or spark.conf.get(f"spark.sql.catalog.{first}", None) is not None):
        catalog = first
    else:
        catalog = spark.catalog.currentCatalog()
    if catalog == SESSION_CATALOG and spark.conf.get(f"spark.sql.catalog.{catalog}", "builtin") == "builtin":
        raise InvalidInputError(
            f"Cannot {act} {table}, because its catalog would be Spark's built-in one, which is no Iceberg catalog: "
            "put the name of a configured catalog in front"
        )
    return catalog


def escapes_string_literals(spark: SparkSession) -> bool:
    """Tell whether the session's parser takes a backslash in a literal for itself."""
    return spark.conf.get("spark.sql.parser.escapedStringLiterals", "false") == "true"


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
