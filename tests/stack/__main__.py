"""The whole stack on this machine without containers, until Ctrl-C: ``make stack``.

PostgreSQL and a REST catalog with S3 (SeaweedFS), a Spark cluster of two workers, and on it a Connect and a Thrift server
with the plugin and both catalogs: ``lake`` by REST, and ``pg`` by JDBC. Scheduled maintenance keeps the tables of both
clustered that say by which columns.
"""

import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from iceberg_zorder.spark.catalogs import AWS_BUNDLE, POSTGRESQL_DRIVER
from iceberg_zorder.spark.session import jar_settings
from tests.stack import servers

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
    return servers.conf(pairs)


def policy(rest: Mapping[str, str], database: str) -> dict[str, object]:
    """The policy that tables are kept clustered by."""
    s3 = {key: value for key, value in rest.items() if key.startswith(S3)} | {"s3.region": rest["client.region"]}
    pg = {"type": "sql", "uri": f"postgresql+psycopg://postgres@{database}", "warehouse": "s3://warehouse/pg", **s3}
    return {
        "version": 1,
        "catalogs": {"lake": {**rest, "s3.region": rest["client.region"]}, "pg": pg},
        "interval": "10 s",
        "defaults": {"options": {"min-age-seconds": 10}},
        "tables": {"*": {}},
    }


@contextmanager
def maintainer(directory: Path, rest: Mapping[str, str], database: str) -> Iterator[str]:
    """Scheduled maintenance; yields where it can be watched."""
    path, port = directory / "policy.yaml", servers.free_port()
    path.write_text(yaml.safe_dump(policy(rest, database)), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "iceberg-zorder"), "maintain", str(path), "--watch"]
    with servers.running(directory, "maintainer", [*command, "--metrics-port", str(port)]) as log:
        servers.wait(lambda: servers.listens(port), log)
        yield f"http://127.0.0.1:{port}/metrics and /health, policy {path}, output {log}"


def main() -> None:
    """Start everything, say where it is, and stop it on Ctrl-C or SIGTERM."""
    console = Console()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-stack-") as name, ExitStack() as stack:
        directory = Path(name)
        try:
            with console.status(
                "Starting PostgreSQL, SeaweedFS, a Spark cluster, its Connect and Thrift servers, maintenance"
            ):
                database = stack.enter_context(servers.postgresql())
                rest = stack.enter_context(servers.seaweedfs(directory))
                master = stack.enter_context(servers.cluster(directory))
                spark = settings(rest, database)
                connect = stack.enter_context(servers.connect_server(directory, master, spark))
                thrift = stack.enter_context(servers.thrift_server(directory, master, spark))
                maintained = stack.enter_context(maintainer(directory, rest, database))
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
            where.add_row("Maintenance", maintained)
            console.print(where)
            console.print(
                "Catalogs: lake (REST), pg (PostgreSQL). Tables with the property zorder.columns are kept clustered. "
                "Ctrl-C stops it all."
            )
            signal.pause()
        except KeyboardInterrupt:
            console.print("Stopping")


if __name__ == "__main__":
    main()
