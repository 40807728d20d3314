"""Say in one message why Spark failed, without Java's stack traces."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError


def failure_message(error: Exception) -> str:
    """Tell the cause of a failure.

    Parameters
    ----------
    error : Exception
        As PySpark raised it, or any other.

    Returns
    -------
    str
        The first message of the chain of causes that reads "Cannot ..., because ...", else the innermost one.

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


def _messages(error: BaseException) -> list[str]:
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    if java is None:
        return [str(error).partition("\n\nJVM stacktrace:")[0].strip()]
    messages = []
    while java is not None:
        message = java.getMessage()
        messages.append(str(message).strip() if message is not None else str(java.toString()))
        java = java.getCause()
    return messages
