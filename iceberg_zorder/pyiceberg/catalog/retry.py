"""Which failures of a catalog pass, and how often and how long what failed is tried again.

Nothing else decides that. PyIceberg's catalogs do not try again themselves (but REST does once, when a token is
expired); the libraries behind its FileIO do, and so do those behind the catalogs Glue, DynamoDB and BigQuery.
"""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar

import requests
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
)
from pyiceberg.table import Table, TableProperties
from tenacity import Retrying, before_sleep_log, retry_if_exception, stop_after_attempt, stop_after_delay
from tenacity.wait import wait_exponential, wait_random
from urllib3.exceptions import MaxRetryError, NewConnectionError

from iceberg_zorder.errors import CatalogUnreachedError
from iceberg_zorder.pyiceberg.properties import whole_number

logger = logging.getLogger("iceberg_zorder")

_T = TypeVar("_T")

_PATIENCE = 10
"""How often a catalog that fails is asked again: with the default waits for about two minutes, as a restart takes."""
_FIRST_PATIENCE = 3
"""The same before anything is done: for about a second."""


_PROPERTIES = (
    (TableProperties.COMMIT_NUM_RETRIES, TableProperties.COMMIT_NUM_RETRIES_DEFAULT),
    (TableProperties.COMMIT_MIN_RETRY_WAIT_MS, TableProperties.COMMIT_MIN_RETRY_WAIT_MS_DEFAULT),
    (TableProperties.COMMIT_MAX_RETRY_WAIT_MS, TableProperties.COMMIT_MAX_RETRY_WAIT_MS_DEFAULT),
    (TableProperties.COMMIT_TOTAL_RETRY_TIME_MS, TableProperties.COMMIT_TOTAL_RETRY_TIME_MS_DEFAULT),
)


def _optional(module: str, name: str) -> tuple[type[Exception], ...]:
    """Find an exception of a package that comes with one kind of catalog only."""
    try:
        return (getattr(import_module(module), name),)
    except ImportError:
        return ()


_UNREACHED: tuple[type[Exception], ...] = (
    ConnectionError,
    TimeoutError,
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
    *_optional("sqlalchemy.exc", "OperationalError"),
    *_optional("sqlalchemy.exc", "InterfaceError"),
    *_optional("thrift.transport.TTransport", "TTransportException"),
)
_TRANSIENT = (
    *_UNREACHED,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    CommitStateUnknownException,
)
_LASTING = (requests.exceptions.SSLError, requests.exceptions.InvalidProxyURL)
"""Among the former: what is configured wrongly."""
_STORAGE = {"file", "sqlite", "hdfs", "s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs", "oss"}
_REFUSED_BY_SQLITE = {
    *("database is locked", "database table is locked"),
    *("attempt to write a readonly database", "database or disk is full"),
}
_REFUSED_BY_DISKS = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR),
    *(errno.EDQUOT, errno.EFBIG, errno.ENOSPC),
}


def is_transient(error: BaseException) -> bool:
    """Tell whether a catalog that failed so may answer when it is asked again; what it did meanwhile is not known."""
    return isinstance(error, _TRANSIENT) and not isinstance(error, _LASTING)


def is_not_committed(error: BaseException) -> bool:
    """Tell whether a commit that failed so was not made, so that it may be tried again.

    The catalog says so, or it was not reached, or it is a file that could not be written, or the disk refused the
    metadata file that it was to point to.
    """
    if isinstance(error, CommitFailedException | ConnectionRefusedError | requests.ConnectTimeout):
        return True
    if isinstance(error, requests.ConnectionError):
        reason = error.args[0] if error.args else None
        return isinstance(reason, MaxRetryError) and isinstance(reason.reason, NewConnectionError)
    if isinstance(error, OSError):
        return error.errno in _REFUSED_BY_DISKS
    # SQLite's own message, wrapped by SQLAlchemy: another connection was writing, or it may not write, or has no room.
    return str(getattr(error, "orig", "")) in _REFUSED_BY_SQLITE


def why(error: BaseException) -> str:
    """Write in a line why something failed; of a connection what its libraries have wrapped.

    Examples
    --------
    >>> refused = ConnectionRefusedError(111, "Connection refused")
    >>> why(requests.ConnectionError(MaxRetryError(None, "/v1/config", refused)))
    'Connection refused'
    """
    if not isinstance(error, _UNREACHED):
        return str(error).strip() or type(error).__name__
    while True:
        wrapped = (*error.args[:1], getattr(error, "reason", None), getattr(error, "orig", None), error.__cause__)
        inner = next((each for each in wrapped if isinstance(each, BaseException)), None)
        if inner is None:
            return getattr(error, "strerror", None) or next(iter(str(error).splitlines()), type(error).__name__)
        error = inner


def masked_address(address: str) -> str:
    """Return an address with dots in the place of its user and password; files and storage have none.

    A password may hold slashes and digits, so that all before the last @ is taken for it.

    Examples
    --------
    >>> for address in ("pg://me:1/b@c@db/x", "https://me@db:80/x", "sqlite:////a@b", "abfss://lake@account.net/x"):
    ...     print(masked_address(address))
    pg://...@db/x
    https://...@db:80/x
    sqlite:////a@b
    abfss://lake@account.net/x
    """
    if address.partition(":")[0] in _STORAGE:
        return address
    return re.sub("//.*@", "//...@", address)


@contextmanager
def reaching(catalog: str, uri: object) -> Iterator[None]:
    """Raise a CatalogUnreachedError of one line, without passwords, where a catalog is not reached.

    Examples
    --------
    >>> with reaching("lake", "postgresql://me:secret@host:5432/lake"):
    ...     raise ConnectionRefusedError(111, "Connection refused")
    Traceback (most recent call last):
    iceberg_zorder.errors.CatalogUnreachedError: Cannot reach catalog lake at postgresql://...@host:5432/lake, because \
Connection refused
    """
    try:
        yield
    except _UNREACHED as error:
        address = masked_address(str(uri)).partition("?")[0]
        raise CatalogUnreachedError(f"Cannot reach catalog {catalog} at {address}, because {why(error)}") from error


def load_first(load: Callable[[], _T]) -> _T:
    """Load a table, or what is known of it, for the first time; again if that fails, but not for long.

    Nothing is lost yet.
    """
    return _retrying({}, is_transient, _FIRST_PATIENCE)(load)


def load(table: Table) -> Table:
    """Load a table again from its catalog, and again if the catalog fails and may recover."""
    return _retrying(table.metadata.properties, is_transient, _PATIENCE)(table.catalog.load_table, table.name())


def retry_commit(properties: Mapping[str, str], attempt: Callable[[], _T]) -> _T:
    """Try to commit, as often as a table allows."""
    return _retrying(properties, lambda error: is_not_committed(error) or is_transient(error))(attempt)


def check_properties(properties: Mapping[str, str]) -> None:
    """Refuse what cannot be read of a table's ``commit.retry.*`` properties; raises InvalidInputError."""
    _retrying(properties, is_transient)


def _retrying(
    properties: Mapping[str, str], is_to_retry: Callable[[BaseException], bool], retries: int | None = None
) -> Retrying:
    """Make what calls a function again, with waits that grow, as often as a table's properties say, or so often."""
    # A negative wait would make sleep fail in the middle of a commit.
    number, least, most, total = (max(0, whole_number(properties, *each)) for each in _PROPERTIES)
    return Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, Exception) and is_to_retry(error)),
        # Writers that were refused together do not ask again together.
        wait=wait_exponential(multiplier=least / 1000, max=most / 1000) + wait_random(0, least / 1000),
        stop=stop_after_attempt(1 + (number if retries is None else retries)) | stop_after_delay(total / 1000),
        before_sleep=before_sleep_log(logger, logging.INFO),
        reraise=True,
    )
