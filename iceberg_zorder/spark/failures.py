"""Say in one message why Spark failed, without Java's stack traces, and whether a rewrite had begun by then."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException

from iceberg_zorder.errors import (
    InvalidInputError,
    RewriteConflictError,
    RewriteFailedError,
    StalePlanError,
    UnknownOutcomeError,
)

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
