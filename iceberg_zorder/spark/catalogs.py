"""Translate PyIceberg's configuration of a catalog into Spark settings for the same catalog.

A pure function of the properties, without any connection.

    sql    sqlite and postgresql   -> type=jdbc and the JDBC driver
    rest                           -> type=rest, the same OAuth2 properties, header.*
    hive                           -> type=hive
    glue                           -> type=glue

Storage: ``s3.*`` and ``client.*`` become Iceberg Java's names, with S3FileIO and the AWS bundle. Other properties are
passed on: Java ignores what only PyIceberg knows. Credentials without a counterpart in Java are refused.
Sources: PyIceberg 0.12 (``pyiceberg.io``, ``pyiceberg.catalog``), Iceberg 1.12
(``S3FileIOProperties``, ``AwsProperties``, ``AwsClientProperties``, ``OAuth2Properties``, ``AuthProperties``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from iceberg_zorder.errors import InvalidInputError

AWS_BUNDLE = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
SQLITE_DRIVER = "org.xerial:sqlite-jdbc:3.50.3.0"
POSTGRESQL_DRIVER = "org.postgresql:postgresql:42.7.14"

Translation = tuple[dict[str, str], tuple[str, ...]]

_REQUIRED: dict[str, tuple[str, ...]] = {"sql": ("uri", "warehouse"), "rest": ("uri",), "hive": ("uri",), "glue": ()}
"""What Spark needs to know of each type of catalog."""
_S3_SCHEMES = ("s3", "s3a", "s3n")

# PyIceberg's name -> Iceberg Java's name, with equal values. Earlier lines win.
_RENAMED = {
    "s3.region": "client.region",
    "glue.region": "client.region",
    "client.access-key-id": "s3.access-key-id",
    "client.secret-access-key": "s3.secret-access-key",
    "client.session-token": "s3.session-token",
    "s3.proxy-uri": "http-client.proxy-endpoint",
    "s3.sse-kms-key-id": "s3.sse.key",
    "s3.role-arn": "client.assume-role.arn",
    "client.role-arn": "client.assume-role.arn",
    "s3.role-session-name": "client.assume-role.session-name",
    "client.role-session-name": "client.assume-role.session-name",
}

# Properties that are translated one by one, or may hold credentials that only PyIceberg uses.
_NOT_HANDED_ON = {
    *("type", "uri", "warehouse", "auth", "ugi", "rest.sigv4-enabled"),
    *("s3.anonymous", "s3.connect-timeout", "s3.force-virtual-addressing", "s3.request-timeout"),
    *("s3.server-side-encryption", "s3.signer"),
}

# Credentials that Iceberg Java reads only outside of the catalog's properties.
_ENVIRONMENT_INSTEAD = {
    "client.profile-name": "AWS_PROFILE",
    "s3.profile-name": "AWS_PROFILE",
    "glue.profile-name": "AWS_PROFILE",
    "glue.access-key-id": "AWS_ACCESS_KEY_ID",
    "glue.secret-access-key": "AWS_SECRET_ACCESS_KEY",
    "glue.session-token": "AWS_SESSION_TOKEN",
    "botocore_session": "AWS_PROFILE",
}

_SSE_TYPES = {"AES256": "s3", "aws:kms": "kms", "aws:kms:dsse": "dsse-kms"}

# libpq's parameter -> the JDBC driver's.
_POSTGRESQL_PARAMETERS = {
    "application_name": "ApplicationName",
    "connect_timeout": "connectTimeout",
    "options": "options",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
}


@dataclass(frozen=True)
class SparkCatalog:
    """The Spark settings of a catalog."""

    name: str
    """Name in Spark, equal to PyIceberg's, because both write it into the rows of a SQL catalog."""
    settings: dict[str, str]
    """The settings ``spark.sql.catalog.<name>`` and ``spark.sql.catalog.<name>.<property>``."""
    packages: tuple[str, ...]
    """Maven coordinates that the catalog needs in addition to Iceberg's runtime."""


def spark_catalog(name: str, properties: Mapping[str, object]) -> SparkCatalog:
    """Translate a PyIceberg catalog.

    Examples
    --------
    >>> catalog = spark_catalog("lake", {"type": "sql", "uri": "sqlite:////data/catalog.db", "warehouse": "/data"})
    >>> for key, value in catalog.settings.items():
    ...     print(key, value)
    spark.sql.catalog.lake org.apache.iceberg.spark.SparkCatalog
    spark.sql.catalog.lake.type jdbc
    spark.sql.catalog.lake.jdbc.schema-version V1
    spark.sql.catalog.lake.uri jdbc:sqlite:/data/catalog.db
    spark.sql.catalog.lake.warehouse file:///data
    >>> catalog.packages
    ('org.xerial:sqlite-jdbc:3.50.3.0',)
    """
    try:
        settings, packages = _translated(name, properties)
    except InvalidInputError as error:
        raise InvalidInputError(f"Cannot give catalog '{name}' to Spark, because {error}") from error
    setting = f"spark.sql.catalog.{name}"
    prefixed = {f"{setting}.{key}": value for key, value in settings.items()}
    return SparkCatalog(name, {setting: "org.apache.iceberg.spark.SparkCatalog", **prefixed}, packages)


def _check(name: str, kind: str, properties: Mapping[str, object], texts: Mapping[str, str]) -> None:
    if not name or "." in name:
        raise InvalidInputError("Spark refuses catalog names that are empty or contain a dot")
    if "py-catalog-impl" in properties:
        raise InvalidInputError(
            f"it is the Python class {properties['py-catalog-impl']}, which has no Java counterpart"
        )
    for key, variable in _ENVIRONMENT_INSTEAD.items():
        if key in properties:
            raise InvalidInputError(f"Iceberg Java has no '{key}': leave it out and set {variable} in the environment")
    if kind not in _REQUIRED:
        raise InvalidInputError(f"its type is '{kind}', but Spark supports only {', '.join(_REQUIRED)}")
    for key in _REQUIRED[kind]:
        if not texts.get(key):
            variable = f"PYICEBERG_CATALOG__{name.upper()}__{key.upper()}"
            raise InvalidInputError(f"it has no '{key}': pass --{key} or set {variable}")


def _translated(name: str, properties: Mapping[str, object]) -> Translation:
    """Return Java's properties and packages; raises InvalidInputError with the reason of a refusal."""
    kind = str(properties.get("type", "")).lower()
    texts = {key: _text(value) for key, value in properties.items() if isinstance(value, str | int | float)}
    _check(name, kind, properties, texts)
    java: dict[str, str] = {"type": kind}
    packages: tuple[str, ...] = ()
    if kind in ("rest", "hive"):
        java["uri"] = texts["uri"]
    if kind == "sql":
        java, packages = _sql(texts["uri"])
    elif kind == "rest":
        java |= _rest(texts, properties.get("auth"))
    if warehouse := texts.get("warehouse"):
        # A REST catalog's warehouse is a name on its server, not a path to complete.
        java["warehouse"] = warehouse if kind == "rest" else file_uri(warehouse)
    java |= _handed_on(texts)
    if _is_on_s3(kind, texts):
        return java | _s3(texts), (*packages, AWS_BUNDLE)
    return java, packages


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sql(uri: str) -> Translation:
    scheme = uri.partition(":")[0]
    java = {"type": "jdbc", "jdbc.schema-version": "V1"}
    if scheme.partition("+")[0] == "sqlite":
        # Three slashes come before a relative path and four before an absolute one, as in SQLAlchemy.
        path = uri.partition("://")[2].partition("?")[0].removeprefix("/")
        if path in ("", ":memory:") or path.startswith("file:"):
            raise InvalidInputError("its uri names no database file that two processes can share")
        return {**java, "uri": f"jdbc:sqlite:{Path(path).absolute()}"}, (SQLITE_DRIVER,)
    if scheme.partition("+")[0] == "postgresql":
        return java | _postgresql(urlsplit(uri)), (POSTGRESQL_DRIVER,)
    raise InvalidInputError(f"its uri starts with '{scheme}:', but only sqlite and postgresql are supported")


def _postgresql(uri: SplitResult) -> dict[str, str]:
    query = {}
    for key, value in parse_qsl(uri.query):
        if key not in _POSTGRESQL_PARAMETERS:
            raise InvalidInputError(f"the JDBC driver has no counterpart of '{key}' in its uri")
        query[_POSTGRESQL_PARAMETERS[key]] = value
    # The part before the last @ may hold a password.
    address = uri.netloc.rpartition("@")[2] or "localhost"
    java = {"uri": f"jdbc:postgresql://{address}{uri.path or '/'}" + (f"?{urlencode(query)}" if query else "")}
    if uri.username is not None:
        java["jdbc.user"] = unquote(uri.username)
    if uri.password is not None:
        java["jdbc.password"] = unquote(uri.password)
    return java


def file_uri(location: str) -> str:
    """Return a plain path as a ``file://`` URI; locations with a scheme stay."""
    return location if urlsplit(location).scheme else f"file://{Path(location).absolute()}"


def _rest(properties: Mapping[str, str], auth: object) -> dict[str, str]:
    java = _rest_authentication(properties, auth)
    # PyIceberg requests storage credentials by default, Java only if configured.
    if not any(key.lower() == "header.x-iceberg-access-delegation" for key in properties):
        java["header.X-Iceberg-Access-Delegation"] = "vended-credentials"
    return java


def _rest_authentication(properties: Mapping[str, str], auth: object) -> dict[str, str]:
    """Translate PyIceberg's nested ``auth`` property and its switch for SigV4."""
    if properties.get("rest.sigv4-enabled", "false").lower() == "true":
        return {"rest.auth.type": "sigv4"}
    if not isinstance(auth, Mapping):
        return {}
    kind = str(auth.get("type", "")).lower()
    given = auth.get(kind)
    values = {key: _text(value) for key, value in given.items()} if isinstance(given, Mapping) else {}
    if kind == "noop":
        return {"rest.auth.type": "none"}
    if kind == "basic":
        return {
            "rest.auth.type": "basic",
            "rest.auth.basic.username": values.get("username", ""),
            "rest.auth.basic.password": values.get("password", ""),
        }
    if kind == "oauth2":
        java = {
            "rest.auth.type": "oauth2",
            "credential": f"{values.get('client_id', '')}:{values.get('client_secret', '')}",
        }
        names = {"token_url": "oauth2-server-uri", "scope": "scope"}
        return java | {names[key]: value for key, value in values.items() if key in names}
    if kind == "google" and not values:
        return {"rest.auth.type": "google"}
    raise InvalidInputError(f"its auth of type '{kind}' has no counterpart in Iceberg Java")


def _handed_on(properties: Mapping[str, str]) -> dict[str, str]:
    java: dict[str, str] = {}
    for key, java_key in _RENAMED.items():
        if key in properties:
            java.setdefault(java_key, properties[key])
    return java | {key: value for key, value in properties.items() if key not in {*_RENAMED, *_NOT_HANDED_ON}}


def _is_on_s3(catalog_type: str, properties: Mapping[str, str]) -> bool:
    if catalog_type == "glue":
        return True
    warehouse = properties.get("warehouse", "")
    scheme = urlsplit(warehouse).scheme
    # S3FileIO cannot read local files, so S3 settings are dropped for other warehouses.
    if scheme in _S3_SCHEMES:
        return True
    if scheme or (warehouse and catalog_type != "rest"):
        return False
    return any(key.startswith("s3.") for key in properties)


def _s3(properties: Mapping[str, str]) -> dict[str, str]:
    java = {"io-impl": properties.get("io-impl", "org.apache.iceberg.aws.s3.S3FileIO")}
    # PyArrow uses path-style access if an endpoint is set; S3FileIO needs a setting.
    virtual = properties.get("s3.force-virtual-addressing", "false").lower() in ("true", "1", "t", "y", "yes", "on")
    if "s3.endpoint" in properties and "s3.path-style-access" not in properties:
        java["s3.path-style-access"] = _text(not virtual)
    if properties.get("s3.anonymous", "false").lower() == "true":
        java["client.credentials-provider"] = "software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider"
    for key, java_key in (
        ("s3.connect-timeout", "http-client.apache.connection-timeout-ms"),
        ("s3.request-timeout", "http-client.apache.socket-timeout-ms"),
    ):
        if key in properties:
            java[java_key] = _milliseconds(key, properties[key])
    if "s3.server-side-encryption" in properties:
        algorithm = properties["s3.server-side-encryption"]
        java["s3.sse.type"] = _SSE_TYPES.get(algorithm, algorithm)
    if properties.get("s3.signer") == "S3V4RestSigner":
        java["s3.remote-signing-enabled"] = "true"
    if "s3.role-arn" in properties or "client.role-arn" in properties:
        region = properties.get("s3.region") or properties.get("client.region")
        if not region:
            raise InvalidInputError("Iceberg Java assumes a role only in a named region: set 'client.region'")
        java["client.factory"] = "org.apache.iceberg.aws.AssumeRoleAwsClientFactory"
        java["client.assume-role.region"] = region
    return java


def _milliseconds(key: str, seconds: str) -> str:
    try:
        return str(round(float(seconds) * 1000))
    except ValueError:
        raise InvalidInputError(f"'{key}' is '{seconds}', which is not a number of seconds") from None
