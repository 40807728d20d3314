"""PyIceberg's catalogs as Spark is told of them."""

from pathlib import Path
from typing import Any

import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.spark.catalogs import AWS_BUNDLE, POSTGRESQL_DRIVER, SQLITE_DRIVER, spark_catalog

VENDED = {"header.X-Iceberg-Access-Delegation": "vended-credentials"}
S3 = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}


def translated(properties: dict[str, Any], name: str = "x") -> tuple[dict[str, str], tuple[str, ...]]:
    catalog = spark_catalog(name, properties)
    assert catalog.settings.pop(f"spark.sql.catalog.{name}") == "org.apache.iceberg.spark.SparkCatalog"
    prefix = f"spark.sql.catalog.{name}."
    return {key.removeprefix(prefix): value for key, value in catalog.settings.items()}, catalog.packages


def jdbc(uri: str, **more: str) -> dict[str, str]:
    return {"type": "jdbc", "uri": uri, "jdbc.schema-version": "V1", "warehouse": "file:///wh", **more}


@pytest.mark.parametrize(
    ("uri", "java"),
    [
        ("sqlite:////p/c.db", "jdbc:sqlite:/p/c.db"),
        ("sqlite+pysqlite:////p/my c.db?timeout=5", "jdbc:sqlite:/p/my c.db"),
        ("sqlite:///c.db", f"jdbc:sqlite:{Path.cwd()}/c.db"),
    ],
)
def test_sqlite(uri: str, java: str) -> None:
    assert translated({"type": "sql", "uri": uri, "warehouse": "/wh"}) == (jdbc(java), (SQLITE_DRIVER,))


@pytest.mark.parametrize(
    ("uri", "java"),
    [
        ("postgresql://h/db", {"uri": "jdbc:postgresql://h/db"}),
        (
            "postgresql+psycopg2://u%40x:p%2Fw%23@127.0.0.1:5433/db?sslmode=require",
            {
                "uri": "jdbc:postgresql://127.0.0.1:5433/db?sslmode=require",
                "jdbc.user": "u@x",
                "jdbc.password": "p/w#",
            },
        ),
        ("postgresql+psycopg://u@[::1]:5432/db", {"uri": "jdbc:postgresql://[::1]:5432/db", "jdbc.user": "u"}),
    ],
)
def test_postgresql(uri: str, java: dict[str, str]) -> None:
    expected = {**jdbc(""), **java}
    assert translated({"type": "sql", "uri": uri, "warehouse": "/wh"}) == (expected, (POSTGRESQL_DRIVER,))


@pytest.mark.parametrize(
    ("warehouse", "java"),
    [
        ("/a b", "file:///a b"),
        ("wh", f"file://{Path.cwd()}/wh"),
        ("file:///wh", "file:///wh"),
        ("file:/wh", "file:/wh"),
        ("hdfs://n/wh", "hdfs://n/wh"),
    ],
)
def test_warehouse(warehouse: str, java: str) -> None:
    settings, _ = translated({"type": "sql", "uri": "sqlite:////c.db", "warehouse": warehouse})
    assert settings["warehouse"] == java


REST = {"type": "rest", "uri": "http://h"}
OF_REST = {
    **REST,
    "warehouse": "my_warehouse",
    "credential": "id:secret",
    "scope": "PRINCIPAL_ROLE:ALL",
    "audience": "a",
    "oauth2-server-uri": "https://h/token",
    "header.X-Tenant": "t",
}
BASIC = {"type": "basic", "basic": {"username": "u", "password": "p"}}
OAUTH2 = {"type": "oauth2", "oauth2": {"client_id": "i", "client_secret": "s", "token_url": "https://t"}}
SIGV4 = {"rest.signing-name": "glue", "rest.signing-region": "eu-west-1"}


@pytest.mark.parametrize(
    ("properties", "java", "packages"),
    [
        (OF_REST, {**OF_REST, **VENDED}, ()),
        (
            {**REST, "header.x-iceberg-access-delegation": "remote-signing"},
            {**REST, "header.x-iceberg-access-delegation": "remote-signing"},
            (),
        ),
        ({**REST, "auth": {"type": "noop"}}, {**REST, **VENDED, "rest.auth.type": "none"}, ()),
        (
            {**REST, "auth": BASIC},
            {
                **REST,
                **VENDED,
                "rest.auth.type": "basic",
                "rest.auth.basic.username": "u",
                "rest.auth.basic.password": "p",
            },
            (),
        ),
        (
            {**REST, "auth": OAUTH2},
            {**REST, **VENDED, "rest.auth.type": "oauth2", "credential": "i:s", "oauth2-server-uri": "https://t"},
            (),
        ),
        ({**REST, "auth": {"type": "google"}}, {**REST, **VENDED, "rest.auth.type": "google"}, ()),
        ({**REST, "rest.sigv4-enabled": "true", **SIGV4}, {**REST, **VENDED, **SIGV4, "rest.auth.type": "sigv4"}, ()),
        ({"type": "hive", "uri": "thrift://h:9083", "ugi": "me:mine"}, {"type": "hive", "uri": "thrift://h:9083"}, ()),
        (
            {"type": "glue", "warehouse": "s3://b/wh", "glue.region": "eu-west-1", "glue.id": "123"},
            {"type": "glue", "warehouse": "s3://b/wh", "client.region": "eu-west-1", "glue.id": "123", **S3},
            (AWS_BUNDLE,),
        ),
    ],
)
def test_other_catalogs(properties: dict[str, Any], java: dict[str, str], packages: tuple[str, ...]) -> None:
    settings, found = translated(properties)
    assert java.items() <= settings.items()
    assert settings.keys() - java.keys() <= {"rest.sigv4-enabled"}
    assert found == packages


@pytest.mark.parametrize(
    ("given", "java"),
    [
        (
            {"s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.session-token": "t", "s3.region": "r"},
            {"s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.session-token": "t", "client.region": "r"},
        ),
        ({"client.access-key-id": "k", "s3.access-key-id": "k3"}, {"s3.access-key-id": "k3"}),
        ({"client.secret-access-key": "s", "client.region": "r"}, {"s3.secret-access-key": "s", "client.region": "r"}),
        ({"s3.endpoint": "http://h"}, {"s3.endpoint": "http://h", "s3.path-style-access": "true"}),
        (
            {"s3.endpoint": "http://h", "s3.force-virtual-addressing": True},
            {"s3.endpoint": "http://h", "s3.path-style-access": "false"},
        ),
        (
            {"s3.connect-timeout": "1.5", "s3.request-timeout": 60},
            {"http-client.apache.connection-timeout-ms": "1500", "http-client.apache.socket-timeout-ms": "60000"},
        ),
        ({"s3.proxy-uri": "http://p"}, {"http-client.proxy-endpoint": "http://p"}),
        (
            {"s3.server-side-encryption": "aws:kms", "s3.sse-kms-key-id": "k"},
            {"s3.sse.type": "kms", "s3.sse.key": "k"},
        ),
        (
            {"s3.signer": "S3V4RestSigner", "s3.signer.uri": "u"},
            {"s3.remote-signing-enabled": "true", "s3.signer.uri": "u"},
        ),
        (
            {"client.role-arn": "arn", "s3.role-session-name": "n", "client.region": "r"},
            {
                "client.factory": "org.apache.iceberg.aws.AssumeRoleAwsClientFactory",
                "client.assume-role.arn": "arn",
                "client.assume-role.session-name": "n",
                "client.assume-role.region": "r",
                "client.region": "r",
            },
        ),
    ],
)
def test_s3(given: dict[str, Any], java: dict[str, str]) -> None:
    settings, packages = translated({"type": "sql", "uri": "sqlite:////c.db", "warehouse": "s3://b/wh", **given})
    assert settings == {**jdbc("jdbc:sqlite:/c.db"), "warehouse": "s3://b/wh", **S3, **java}
    assert packages == (SQLITE_DRIVER, AWS_BUNDLE)


def test_settings_of_s3_mean_nothing_to_a_local_warehouse() -> None:
    settings, packages = translated({"type": "sql", "uri": "sqlite:////c.db", "warehouse": "/wh", "s3.region": "r"})
    assert "io-impl" not in settings
    assert packages == (SQLITE_DRIVER,)


def test_rest_on_s3_by_its_settings() -> None:
    settings, packages = translated({"type": "rest", "uri": "http://h", "warehouse": "lake", "s3.endpoint": "http://s"})
    assert settings["io-impl"] == S3["io-impl"]
    assert packages == (AWS_BUNDLE,)


def test_name_with_special_characters() -> None:
    assert "spark.sql.catalog.my-lake.type" in spark_catalog("my-lake", {"type": "glue"}).settings


@pytest.mark.parametrize(
    ("properties", "because"),
    [
        ({"type": "in-memory"}, "its type is 'in-memory', but Spark supports only sql, rest, hive, glue"),
        ({"type": "dynamodb"}, "its type is 'dynamodb', but "),
        ({"type": "bigquery"}, "its type is 'bigquery', but "),
        ({}, "its type is '', but "),
        ({"py-catalog-impl": "a.B"}, "it is the Python class a.B, which has no Java counterpart"),
        ({"type": "sql", "warehouse": "/w"}, "it has no 'uri': pass --uri or set PYICEBERG_CATALOG__X__URI"),
        ({"type": "sql", "uri": "sqlite:////c.db"}, "it has no 'warehouse': pass --warehouse"),
        ({"type": "sql", "uri": "sqlite:///:memory:", "warehouse": "/w"}, "its uri names no database file"),
        ({"type": "sql", "uri": "sqlite://", "warehouse": "/w"}, "its uri names no database file"),
        ({"type": "sql", "uri": "mysql://u:secret@h/d", "warehouse": "/w"}, "its uri starts with 'mysql:', but "),
        (
            {"type": "sql", "uri": "postgresql:///d?host=/tmp", "warehouse": "/w"},
            "the JDBC driver has no counterpart of",
        ),
        (
            {"type": "glue", "glue.profile-name": "p"},
            "Iceberg Java has no 'glue.profile-name': leave it out and set AWS_",
        ),
        ({"type": "rest", "uri": "http://h", "auth": {"type": "entra"}}, "its auth of type 'entra' has no counterpart"),
        ({"type": "glue", "s3.role-arn": "a"}, "Iceberg Java assumes a role only in a named region"),
        (
            {"type": "glue", "s3.connect-timeout": "soon"},
            "'s3.connect-timeout' is 'soon', which is not a number of seconds",
        ),
    ],
)
def test_refused(properties: dict[str, Any], because: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        spark_catalog("x", properties)
    assert str(raised.value).startswith(f"Cannot give catalog 'x' to Spark, because {because}")
    assert "secret" not in str(raised.value)


def test_name_with_a_dot_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"Cannot give catalog 'a\.b' to Spark, because"):
        spark_catalog("a.b", {"type": "glue"})
