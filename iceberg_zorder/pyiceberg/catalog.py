"""Catalogs: their configuration, loading a table again, retries, and credentials kept fresh while a rewrite runs.

A REST catalog vends credentials with the table, which expire, often within an hour. PyIceberg keeps those of the last
load, so a rewrite has its FileIO here, which asks the catalog again in time. What is open already, keeps what it was
opened with.
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
from importlib import import_module
from threading import Lock
from typing import NoReturn, TypeVar, cast

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
from tenacity import Retrying, before_sleep_log, retry_if_exception, stop_after_attempt, stop_after_delay
from tenacity.wait import wait_exponential, wait_random
from urllib3.exceptions import MaxRetryError, NewConnectionError

from iceberg_zorder.errors import CatalogUnreachedError, InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.pyiceberg.compat import (
    CatalogType,
    configured,
    infer_catalog_type,
    load_catalog,
    merge_config,
)
from iceberg_zorder.pyiceberg.files import display_name

logger = logging.getLogger("iceberg_zorder")


def whole_number(properties: Mapping[str, str], name: str, default: int, *, least: int | None = None) -> int:
    """Read a property that is a whole number.

    Examples
    --------
    >>> whole_number({"a": "7"}, "a", 1), whole_number({}, "a", 1)
    (7, 1)
    >>> whole_number({"a": "x"}, "a", 1)
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use a = 'x', because it is no whole number
    """
    text = properties.get(name)
    try:
        value = int(text) if text else default
    except ValueError as error:
        raise InvalidInputError(f"Cannot use {name} = '{text}', because it is no whole number") from error
    if least is not None and value < least:
        raise InvalidInputError(f"Cannot use {name} = '{text}', because it must be at least {least}")
    return value


@dataclass(frozen=True)
class CatalogConfiguration:
    """A catalog as PyIceberg would load it."""

    name: str
    properties: dict[str, object]  # text, or nested dictionaries of text; ``type`` is always there
    flags: tuple[str, ...] = ()  # of the command line, which find it again, without passwords


def catalog_properties(
    name: str | None = None, *, uri: str | None = None, warehouse: str | None = None
) -> CatalogConfiguration:
    """Find a catalog's properties as :func:`pyiceberg.catalog.load_catalog` does, without connecting.

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
        why = f"its uri starts with '{str(uri).partition(':')[0]}:', which tells no type: set 'type'"
    raise InvalidInputError(f"Cannot find catalog '{name}', because {why}")


@contextmanager
def open_catalog(catalog: CatalogConfiguration) -> Iterator[Catalog]:
    """Open a catalog, and close its connections at the end; raises CatalogUnreachedError."""
    properties = cast(dict[str, str], catalog.properties)
    with reaching(catalog.name, properties.get("uri")), load_catalog(catalog.name, **properties) as opened:
        yield opened


def has_tables(catalog: CatalogConfiguration, *identifiers: tuple[str, ...]) -> bool:
    """Return whether a catalog has all of some tables; not where it does not say, as loading one then says why."""
    # Libraries of catalogs raise what they like.
    with suppress(Exception), open_catalog(catalog) as source:
        return all(map(source.table_exists, identifiers))
    return False


def load_table(catalog: CatalogConfiguration, identifier: tuple[str, ...]) -> Table:
    """Load a table from a catalog; one that fails is asked again."""
    properties = cast(dict[str, str], catalog.properties)
    try:
        with reaching(catalog.name, properties.get("uri")):
            return load_first(lambda: load_catalog(catalog.name, **properties).load_table(identifier))
    except NoSuchTableError as error:
        name = quoted_name((catalog.name, *identifier))
        raise InvalidInputError(
            f"Cannot load table {name}, because there is no such table in catalog {catalog.name}"
        ) from error


def given_table(
    catalog: str,
    name: tuple[str, ...],
    metadata: tuple[str, bytes],
    read_manifests: Callable[[int], Mapping[str, bytes]],
) -> Table:
    """Make a table that can be read, and neither refreshed nor written."""
    location, content = metadata
    parsed = TableMetadataUtil.parse_raw(content.decode())
    snapshots = {each.manifest_list: each.snapshot_id for each in parsed.snapshots}
    return Table(name, parsed, location, _Manifests(snapshots, read_manifests), NoopCatalog(catalog))


class _Manifests(FileIO):
    """Has the manifests of a snapshot read all at once."""

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
        """Refuse to delete."""
        raise NotImplementedError


class _Content(InputFile):
    def __init__(self, location: str, content: bytes) -> None:
        super().__init__(location)
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def exists(self) -> bool:
        """Tell that it does."""
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002
        """Open it."""
        return io.BytesIO(self._content)


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
_TRANSIENT = (*_UNREACHED, ServerError, ServiceUnavailableError, TooManyRequestsError, CommitStateUnknownException)
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
    return retrying({}, is_transient, _FIRST_PATIENCE)(load)


def load(table: Table) -> Table:
    """Load a table again from its catalog, and again if the catalog fails and may recover."""
    return retrying(table.metadata.properties, is_transient, _PATIENCE)(table.catalog.load_table, table.name())


def retry_commit(properties: Mapping[str, str], attempt: Callable[[], _T]) -> _T:
    """Try to commit, as often as a table allows."""
    return retrying(properties, lambda error: is_not_committed(error) or is_transient(error))(attempt)


def retrying(
    properties: Mapping[str, str], is_to_retry: Callable[[BaseException], bool], retries: int | None = None
) -> Retrying:
    """Return what calls a function again, with growing waits: as often as asked for, else as a table's properties say.

    Raises InvalidInputError for properties ``commit.retry.*`` that are no whole numbers.
    """
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


_now = time.time
_AHEAD_SECONDS = 300.0
"""How long before they expire credentials are renewed, if they last twice as long: as Iceberg for Java does."""
_UNKNOWN_SECONDS = 300.0
"""How often credentials are renewed that do not say when they expire."""
_LEAST_SECONDS = 1.0
"""From one renewal to the next, where a catalog gives credentials that have expired, or the same again."""
_EXPIRES = "expires-at"
"""A part of the names of properties that say so, in milliseconds since 1970: ``s3.session-token-expires-at-ms``, ..."""
_TEMPORARY = ("s3.session-token", "client.session-token", "gcs.oauth2.token", "adls.sas-token", "adls.token")
"""What the names of properties begin with that are credentials for a time."""


def refresh(table: Table) -> None:
    """Make a table what its catalog has now; a catalog that fails is asked again."""
    if isinstance(table, StaticTable):
        raise InvalidInputError(
            f"Cannot use {table.metadata_location}, because a table that is loaded from its metadata file has no "
            "catalog: load it from one"
        )
    fresh = load(table)
    if fresh.metadata.table_uuid != table.metadata.table_uuid:
        raise InvalidInputError(
            f"Cannot rewrite {display_name(table)}, because it was dropped and another table has its name: load it"
        )
    adopt(table, fresh)


def adopt(table: Table, fresh: Table) -> None:
    """Take over what a fresh load of the same table brought."""
    table.metadata = fresh.metadata
    table.metadata_location = fresh.metadata_location
    table.config = fresh.config
    if isinstance(table.io, RenewedIO):
        table.io.adopt(fresh.io)
    else:
        table.io = fresh.io


@contextmanager
def renewed(table: Table) -> Iterator[None]:
    """Renew a table's credentials while a block runs."""
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
        """Go on with another FileIO, whose credentials are new."""
        # A catalog may hand out a table that it knows already.
        self.current: FileIO = io.current if isinstance(io, RenewedIO) else io
        self.properties = self.current.properties
        times = [
            int(value) / 1000
            for name, value in self.properties.items()
            if _EXPIRES in name and str(value).strip().isdecimal()
        ]
        self._expires: float | None = min(times, default=None)
        """When the first of the credentials expires, in seconds since 1970."""
        self._renew_at = self._renewal()

    def _renewal(self) -> float | None:
        """Tell when to ask the catalog for other credentials; never if they are not the catalog's, or last."""
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
                    "Cannot renew the credentials of %s, and use those that are there",
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
