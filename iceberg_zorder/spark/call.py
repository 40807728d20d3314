"""CALLs of the plugin: their text, their failures, and a cancellable thread that runs them."""

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

# Class of Java exceptions without a Python class in Spark Connect.
_JAVA_CLASS = re.compile(r"^\([\w.$]+\) ")


def failure_message(error: Exception) -> str:
    """Return the cause of a failure as text.

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
    """Return the error class for a failed CALL: refused, failed, in conflict, or unknown.

    The message decides, because Spark Connect transmits little else.

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
# A dollar before a brace is split off, because Spark substitutes ${...}.
_NEEDS_CHR = re.compile(r"['\\]|\$(?=\{)")


def string_literal(text: str, *, escaped_string_literals: bool = False) -> str:
    r"""Return a Spark SQL expression whose value is a text.

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
    """Return a CALL with named arguments."""
    named = ", ".join(f"{name} => {expression}" for name, expression in arguments.items())
    return f"CALL {quoted_identifier(catalog)}.system.{procedure}({named})"


def rows_of(spark: SparkSession, call: str) -> list[Row]:
    """Run a CALL, and return its rows."""
    try:
        return spark.sql(call).collect()
    except (PySparkException, Py4JError) as error:
        raise rewrite_error(error) from error


def catalog_of(spark: SparkSession, table: str, act: str = "rewrite") -> str:
    """Return the catalog of a table: the first part of its name if that is a catalog, else the current one."""
    first, *rest = name_parts(table)
    if rest and (first == SESSION_CATALOG or spark.conf.get(f"spark.sql.catalog.{first}", None) is not None):
        catalog = first
    else:
        catalog = spark.catalog.currentCatalog()
    if catalog == SESSION_CATALOG and spark.conf.get(f"spark.sql.catalog.{catalog}", "builtin") == "builtin":
        raise InvalidInputError(
            f"Cannot {act} {table}, because its catalog would be Spark's built-in one, which is not an Iceberg "
            "catalog: put the name of a configured catalog in front"
        )
    return catalog


def escapes_string_literals(spark: SparkSession) -> bool:
    """Return whether the session's parser keeps backslashes in literals unchanged."""
    return spark.conf.get("spark.sql.parser.escapedStringLiterals", "false") == "true"


_T = TypeVar("_T")
_JOB_GROUP = "iceberg-zorder"
_SECONDS_BETWEEN_CANCELLATIONS = 0.1


class SparkCall(Generic[_T]):
    """A call running in its own thread.

    Signals raise in the main thread. If that thread were talking to the JVM, the exception would break the connection
    between a request and its answer. So the main thread only waits.
    """

    def __init__(self, session: AbstractContextManager[SparkSession], call: Callable[[SparkSession], _T]) -> None:
        self._session = session
        self._call = call
        self._result: Future[_T] = Future()
        self._lock = Lock()
        self._spark: SparkSession | None = None
        self._is_begun = False
        self._is_cancelled = False
        # A daemon thread: a command that is cancelled while Spark starts has nothing to clean up, and does not wait.
        Thread(target=self._run, daemon=True).start()

    def result(self) -> _T:
        """Wait for the call and for Spark to stop; raises their errors."""
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
        """Cancel jobs repeatedly until the call is over, because further jobs may start between two attempts."""
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
            # A stopping Spark answers no request.
            with self._lock:
                self._spark = None
