"""The whole stack on this machine without containers, until Ctrl-C: ``make stack``.

PostgreSQL and a REST catalog with S3 (SeaweedFS), a Spark cluster of two workers, and on it a Connect and a Thrift server
with the plugin and both catalogs: ``lake`` by REST, and ``pg`` by JDBC.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.table import Table

from iceberg_zorder.spark.catalogs import AWS_BUNDLE, POSTGRESQL_DRIVER
from iceberg_zorder.spark.session import jar_settings
from tests.stack.servers import cluster, conf, connect_server, postgresql, seaweedfs, thrift_server

S3 = ("io-impl", "s3.", "client.")


def settings(rest: Mapping[str, str], database: str) -> list[str]:
    """Spark's settings for the plugin and the two catalogs."""
    s3 = {key: value for key, value in rest.items() if key.startswith(S3)}
    pg = {"type": "jdbc", "uri": f"jdbc:postgresql://{database}", "jdbc.user": "postgres", "jdbc.schema-version": "V1"}
    catalogs = {"lake": dict(rest), "pg": {**pg, "warehouse": "s3://warehouse/pg", **s3}}
    pairs = {
        **jar_settings({}, extra_packages=[AWS_BUNDLE, POSTGRESQL_DRIVER]),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.cores.max": "1",
        "spark.executor.memory": "800m",
        "spark.sql.catalogImplementation": "in-memory",
    }
    for name, properties in catalogs.items():
        pairs[f"spark.sql.catalog.{name}"] = "org.apache.iceberg.spark.SparkCatalog"
        pairs |= {f"spark.sql.catalog.{name}.{key}": value for key, value in properties.items()}
    return conf(pairs)


def main() -> None:
    """Start everything, say where it is, and stop it on Ctrl-C or SIGTERM."""
    console = Console()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-stack-") as name, ExitStack() as stack:
        directory = Path(name)
        try:
            with console.status("Starting PostgreSQL, SeaweedFS, a Spark cluster, and its Connect and Thrift servers"):
                database = stack.enter_context(postgresql())
                rest = stack.enter_context(seaweedfs(directory))
                master = stack.enter_context(cluster(directory))
                spark = settings(rest, database)
                connect = stack.enter_context(connect_server(directory, master, spark))
                thrift = stack.enter_context(thrift_server(directory, master, spark))
            where = Table("what", "where")
            where.add_row("PostgreSQL", f"postgresql://postgres@{database}")
            where.add_row(
                "REST catalog", f"{rest['uri']} (credential {rest['credential']}, warehouse {rest['warehouse']})"
            )
            where.add_row(
                "S3", f"{rest['s3.endpoint']} (keys {rest['s3.access-key-id']}, {rest['s3.secret-access-key']})"
            )
            where.add_row("Spark master", master)
            where.add_row("Spark Connect", connect)
            where.add_row("Thrift, for JDBC", thrift)
            console.print(where)
            console.print("Catalogs: lake (REST), pg (PostgreSQL). Ctrl-C stops it all.")
            signal.pause()
        except KeyboardInterrupt:
            console.print("Stopping")


if __name__ == "__main__":
    main()
