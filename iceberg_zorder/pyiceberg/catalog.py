"""Catalogs: configuration, loading and reloading tables, retries, and fresh credentials during a rewrite.

A REST catalog vends credentials that expire, often within an hour, but PyIceberg keeps those of the last load. The
FileIO in this module asks the catalog for new credentials in time. Open files keep the credentials they were opened
with.
"""

from __future__ import annotations

import errno
import io
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module
from threading import Lock
from typing import NoReturn, TypeAlias, TypeVar, cast

import requests
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
)
from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, load_file_io
from pyiceberg.table import StaticTable, Table, TableProperties
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.typedef import RecursiveDict
from tenacity import Retrying, before_sleep_log, retry_if_exception
from tenacity.wait import wait_exponential, wait_random
from urllib3.exceptions import MaxRetryError, NewConnectionError

from iceberg_zorder.errors import CatalogUnreachedError, InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.pyiceberg.compat import (
    CatalogType,
    check_loaded,
    configured,
    infer_catalog_type,
    load_catalog,
    merge_config,
)
from iceberg_zorder.pyiceberg.files import display_name

logger = logging.getLogger("iceberg_zorder")


def whole_number(properties: Mapping[str, str], name: str, default: int, *, least: int | None = None) -> int:
    """Return a property as a whole number.

    Examples
    --------
    >>> whole_number({"a": "7"}, "a", 1), whole_number({}, "a", 1)
    (7, 1)
    >>> whole_number({"a": "x"}, "a", 1)
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use a = 'x', because it is not a whole number
    """
    text = properties.get(name)
    try:
        value = int(text) if text else default
    except ValueError as error:
        raise InvalidInputError(f"Cannot use {name} = '{text}', because it is not a whole number") from error
    if least is not None and value < least:
        raise InvalidInputError(f"Cannot use {name} = '{text}', because it must be at least {least}")
    return value


@dataclass(frozen=True)
class CatalogConfiguration:
    """A catalog's name and properties, as PyIceberg loads it."""

    name: str
    properties: dict[str, object]  # text, or nested dictionaries of text; ``type`` is always there
    flags: tuple[str, ...] = ()  # command-line flags that select the catalog, without passwords


def catalog_properties(
    name: str | None = None, *, uri: str | None = None, warehouse: str | None = None
) -> CatalogConfiguration:
    """Return a catalog's properties as :func:`pyiceberg.catalog.load_catalog` finds them, without connecting.

    Examples
    --------
    >>> catalog_properties("doc", uri="sqlite:////data/catalog.db", warehouse="/data").properties["type"]
    'sql'
    """
    found = configured(name)
    given: RecursiveDict = {key: each for key, each in (("uri", uri), ("warehouse", warehouse)) if each is not None}
    if found.properties is None and uri is None:
        raise InvalidInputError(
            f"Cannot find catalog '{found.name}', because neither .pyiceberg.yaml nor PYICEBERG_CATALOG__ variables "
            f"configure it (they configure: {', '.join(found.known) or 'none'}): name one with --catalog, or pass "
            "--uri and --warehouse"
        )
    properties = merge_config(found.properties or {}, given)
    if "py-catalog-impl" not in properties:
        properties["type"] = _catalog_type(found.name, properties)
    flags = [word for key, value in given.items() for word in (f"--{key}", masked_address(str(value)))]
    return CatalogConfiguration(found.name, {**properties}, tuple(flags))


def _catalog_type(name: str, properties: RecursiveDict) -> str:
    given, uri = properties.get("type"), properties.get("uri")
    known = [each.value for each in CatalogType]
    if given and str(given).lower() in known:
        return str(given).lower()
    if given:
        why = f"its type is '{given}': use {', '.join(known)}"
    elif not uri:
        why = f"it has no 'uri': pass --uri or set PYICEBERG_CATALOG__{name.upper()}__URI"
    else:
        with suppress(ValueError):
            if inferred := infer_catalog_type(name, properties):
                return inferred.value
        # The uri may hold a password.
        why = f"its uri starts with '{str(uri).partition(':')[0]}:', so its type is unknown: set 'type'"
    raise InvalidInputError(f"Cannot find catalog '{name}', because {why}")


@contextmanager
def open_catalog(catalog: CatalogConfiguration) -> Iterator[Catalog]:
    """Open a catalog and close its connections on exit; raises CatalogUnreachedError."""
    properties = cast(dict[str, str], catalog.properties)
    with reaching(catalog.name, properties.get("uri")), load_catalog(catalog.name, **properties) as opened:
        yield opened


def has_tables(catalog: CatalogConfiguration, *identifiers: tuple[str, ...]) -> bool:
    """Return whether a catalog has all these tables; False if it fails, because loading then reports the error."""
    # Catalog libraries raise many kinds of errors.
    with suppress(Exception), open_catalog(catalog) as source:
        return all(map(source.table_exists, identifiers))
    return False


def load_table(catalog: CatalogConfiguration, identifier: tuple[str, ...]) -> Table:
    """Load a table, with retries if the catalog fails."""
    properties = cast(dict[str, str], catalog.properties)
    try:
        with reaching(catalog.name, properties.get("uri")):
            return load_first(lambda: load_catalog(catalog.name, **properties).load_table(identifier))
    except NoSuchTableError as error:
        name = quoted_name((catalog.name, *identifier))
        raise InvalidInputError(
            f"Cannot load table {name}, because catalog {catalog.name} has no such table"
        ) from error


GivenTable: TypeAlias = Table
"""A table that another engine has read, for modules of that engine."""


def given_table(
    catalog: str,
    name: tuple[str, ...],
    metadata: tuple[str, bytes],
    read_manifests: Callable[[int], Mapping[str, bytes]],
) -> Table:
    """Return a read-only table from given metadata; it cannot be refreshed."""
    location, content = metadata
    parsed = TableMetadataUtil.parse_raw(content.decode())
    snapshots = {each.manifest_list: each.snapshot_id for each in parsed.snapshots}
    return Table(name, parsed, location, _Manifests(snapshots, read_manifests), NoopCatalog(catalog))


class _Manifests(FileIO):
    """Reads all manifests of a snapshot at once."""

    def __init__(self, snapshots: Mapping[str, int], read: Callable[[int], Mapping[str, bytes]]) -> None:
        super().__init__()
        self._snapshots, self._read = snapshots, read
        self._files: Mapping[str, bytes] = {}

    def new_input(self, location: str) -> InputFile:
        """Find a file to read."""
        if location in self._snapshots:
            self._files = self._read(self._snapshots[location])
        if location in self._files:
            return _Content(location, self._files[location])
        return load_file_io(location=location).new_input(location)

    def new_output(self, location: str) -> NoReturn:
        """Refuse to write."""
        raise NotImplementedError

    def delete(self, location: object) -> NoReturn:
        raise NotImplementedError


class _Content(InputFile):
    def __init__(self, location: str, content: bytes) -> None:
        super().__init__(location)
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def exists(self) -> bool:
        """Return True."""
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002
        return io.BytesIO(self._content)


_T = TypeVar("_T")

_PATIENCE = 10
"""Retries of a failing catalog: about two minutes with the default waits, enough for a restart."""
_FIRST_PATIENCE = 3
"""Retries before the work starts: about one second."""


_PROPERTIES = (
    (TableProperties.COMMIT_NUM_RETRIES, TableProperties.COMMIT_NUM_RETRIES_DEFAULT),
    (TableProperties.COMMIT_MIN_RETRY_WAIT_MS, TableProperties.COMMIT_MIN_RETRY_WAIT_MS_DEFAULT),
    (TableProperties.COMMIT_MAX_RETRY_WAIT_MS, TableProperties.COMMIT_MAX_RETRY_WAIT_MS_DEFAULT),
    (TableProperties.COMMIT_TOTAL_RETRY_TIME_MS, TableProperties.COMMIT_TOTAL_RETRY_TIME_MS_DEFAULT),
)
_LIMITS_MS = (60_000, 60_000, 1_800_000)
"""Limits of the waits and of their sum: Iceberg's defaults of the last two."""


def _optional(module: str, name: str) -> tuple[type[Exception], ...]:
    """Return an exception class of an optional package, if installed."""
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
_TRANSIENT = (*_UNREACHED, ServerError, ServiceUnavailableError, TooManyRequestsError, CommitStateUnknownException)
_LASTING = (requests.exceptions.SSLError, requests.exceptions.InvalidProxyURL)
"""Those of the former that indicate a wrong configuration."""
_STORAGE = {"file", "sqlite", "hdfs", "s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs", "oss"}
_REFUSED_BY_SQLITE = {
    *("database is locked", "database table is locked"),
    *("attempt to write a readonly database", "database or disk is full"),
}
_REFUSED_BY_DISKS = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR),
    *(errno.EDQUOT, errno.EFBIG, errno.ENOSPC),
}


_THROTTLES = re.compile("Throttl|SlowDown|RequestLimitExceeded|TooManyRequestsException|ThroughputExceededException")
"""Part of the codes by which services of AWS throttle, under any HTTP status."""
_SLOWED_BY_S3 = re.compile(r"AWS Error (SLOW_DOWN|UNKNOWN \(HTTP status 503\)) during")
"""Part of Arrow's messages when S3 throttles: most catalogs' clients write the metadata files themselves."""


def is_transient(error: BaseException) -> bool:
    """Return whether retrying may help after an error of a catalog; the request may have succeeded all the same."""
    if isinstance(error, _TRANSIENT) or _is_throttled_by_rest(error):
        return not isinstance(error, _LASTING)
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        # A ClientError of botocore, which repeats requests by itself: an earlier one may have succeeded.
        status, code = answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]
        return status >= HTTPStatus.INTERNAL_SERVER_ERROR or _THROTTLES.search(code) is not None
    return isinstance(error, OSError) and _SLOWED_BY_S3.search(str(error)) is not None


def _is_throttled_by_rest(error: BaseException) -> bool:
    # AWS Glue's endpoint answers 400, with the reason in a header.
    headers = getattr(getattr(error.__cause__, "response", None), "headers", {})
    return isinstance(error, TooManyRequestsError) or _THROTTLES.search(headers.get("x-amzn-errortype", "")) is not None


def is_not_committed(error: BaseException) -> bool:
    """Return whether a failed commit certainly did not happen, so that it may be retried.

    That is so if the catalog says so, throttled the request or was not reached, or if a catalog file or metadata file
    could not be written.
    """
    refused = isinstance(error, CommitFailedException | ConnectionRefusedError | requests.ConnectTimeout)
    if refused or _is_throttled_by_rest(error):
        return True
    if isinstance(error, requests.ConnectionError):
        reason = error.args[0] if error.args else None
        return isinstance(reason, MaxRetryError) and isinstance(reason.reason, NewConnectionError)
    if isinstance(error, OSError):
        return error.errno in _REFUSED_BY_DISKS
    # SQLite's messages, wrapped by SQLAlchemy: locked by another connection, read-only, or no space left.
    return str(getattr(error, "orig", "")) in _REFUSED_BY_SQLITE


def why(error: BaseException) -> str:
    """Return the reason of an error in one line; for connections, the innermost reason.

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
    """Return an address with its user and password replaced by dots; addresses of files and storage stay.

    Everything before the last @ is masked, because passwords may hold slashes.

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
    """Turn connection errors into a CatalogUnreachedError of one line, without passwords.

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
    """Load a table for the first time, with few retries, because no work would be lost."""
    return retrying({}, is_transient, _FIRST_PATIENCE)(load)


def load(table: Table) -> Table:
    """Reload a table from its catalog, with retries; refuses properties that choose where its files are."""
    check_loaded(table)
    fresh = retrying(table.metadata.properties, is_transient, _PATIENCE)(table.catalog.load_table, table.name())
    check_loaded(fresh)
    return fresh


def commit_retries(properties: Mapping[str, str], more: Callable[[], int] = lambda: 0) -> Retrying:
    """Return the retries of a commit that the table's properties allow, and so many more."""
    return retrying(properties, lambda error: is_not_committed(error) or is_transient(error), more=more)


def retrying(
    properties: Mapping[str, str],
    is_to_retry: Callable[[BaseException], bool],
    retries: int | None = None,
    more: Callable[[], int] = lambda: 0,
) -> Retrying:
    """Return a retry policy with growing waits; the table's properties set the number of retries by default.

    ``more`` returns how many retries more than these are allowed by now.

    No property makes a wait longer than a minute, or all waits together longer than 30 minutes: Iceberg's defaults.
    Raises InvalidInputError for properties ``commit.retry.*`` that are not whole numbers.
    """
    # A negative wait would raise in the middle of a commit.
    number, *waits = (max(0, whole_number(properties, *each)) for each in _PROPERTIES)
    # Who sets properties must not stop a maintainer.
    least, most, total = (min(each, limit) / 1000 for each, limit in zip(waits, _LIMITS_MS, strict=True))
    number = number if retries is None else retries
    # Jitter keeps writers from retrying at the same moment.
    backoff = wait_exponential(multiplier=least, max=most) + wait_random(0, least)
    return Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, Exception) and is_to_retry(error)),
        wait=lambda state: min(backoff(state), _LIMITS_MS[1] / 1000, total - (state.seconds_since_start or 0)),
        stop=lambda state: state.attempt_number > number + more() or (state.seconds_since_start or 0) >= total,
        before_sleep=before_sleep_log(logger, logging.INFO),
        reraise=True,
    )


_now = time.time
_AHEAD_SECONDS = 300.0
"""How long before their expiry credentials are renewed, if they last at least twice as long; as in Iceberg for Java."""
_UNKNOWN_SECONDS = 300.0
"""Renewal interval of credentials without an expiry time."""
_LEAST_SECONDS = 1.0
"""Renewal interval if the catalog returns expired or unchanged credentials."""
_EXPIRES = "expires-at"
"""Part of the names of expiry properties, in milliseconds since 1970, such as ``s3.session-token-expires-at-ms``."""
_TEMPORARY = ("s3.session-token", "client.session-token", "gcs.oauth2.token", "adls.sas-token", "adls.token")
"""Prefixes of properties that hold temporary credentials."""


def refresh(table: Table) -> None:
    """Refresh a table from its catalog, with retries."""
    if isinstance(table, StaticTable):
        raise InvalidInputError(
            f"Cannot use {table.metadata_location}, because a table loaded from its metadata file has no "
            "catalog: load it from a catalog"
        )
    fresh = load(table)
    if fresh.metadata.table_uuid != table.metadata.table_uuid:
        raise InvalidInputError(
            f"Cannot rewrite {display_name(table)}, because it was dropped and another table has its name: reload it"
        )
    adopt(table, fresh)


def adopt(table: Table, fresh: Table) -> None:
    """Update a table from a fresh load of the same table."""
    table.metadata = fresh.metadata
    table.metadata_location = fresh.metadata_location
    table.config = fresh.config
    if isinstance(table.io, RenewedIO):
        table.io.adopt(fresh.io)
    else:
        table.io = fresh.io


@contextmanager
def renewed(table: Table) -> Iterator[None]:
    """Renew a table's credentials during a block."""
    renewing = RenewedIO(table)
    table.io = renewing
    try:
        yield
    finally:
        table.io = renewing.current


class RenewedIO(FileIO):
    """A table's FileIO, whose credentials are renewed before they expire."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lock = Lock()
        self.adopt(table.io)

    def adopt(self, io: FileIO) -> None:
        """Continue with another FileIO, which has new credentials."""
        # A catalog may return a cached table.
        self.current: FileIO = io.current if isinstance(io, RenewedIO) else io
        self.properties = self.current.properties
        times = [
            int(value) / 1000
            for name, value in self.properties.items()
            if _EXPIRES in name and str(value).strip().isdecimal()
        ]
        self._expires: float | None = min(times, default=None)
        """Earliest expiry of the credentials, in seconds since 1970."""
        self._renew_at = self._renewal()

    def _renewal(self) -> float | None:
        """Return the time of the next renewal; None for credentials that are not the catalog's or do not expire."""
        now = _now()
        if self._expires is not None:
            left = self._expires - now
            return now + max(_LEAST_SECONDS, left - _AHEAD_SECONDS, left / 2)
        own = self._table.catalog.properties
        is_vended = any(
            name.startswith(_TEMPORARY) and own.get(name) != value for name, value in self.properties.items()
        )
        return now + _UNKNOWN_SECONDS if is_vended else None

    def _fresh(self) -> FileIO:
        with self._lock:
            if self._renew_at is not None and _now() >= self._renew_at:
                self._renew()
            return self.current

    def _renew(self) -> None:
        try:
            fresh = load(self._table)
        except Exception:
            if self._expires is None or _now() < self._expires:
                logger.warning(
                    "Cannot renew the credentials of %s: continuing with the present ones",
                    display_name(self._table),
                    exc_info=True,
                )
                self._renew_at = self._renewal()
                return
            raise
        self.adopt(fresh.io)

    def new_input(self, location: str) -> InputFile:
        """Find a file to read."""
        return self._fresh().new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """Find a file to write."""
        return self._fresh().new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file."""
        self._fresh().delete(location)
