"""Other ways to reach Spark and the table than the session and the catalog of the other tests.

A cluster with workers of its own, the Thrift server, and a REST catalog with its files in S3 (both by SeaweedFS).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from pyiceberg.catalog import load_catalog

from iceberg_zorder.spark.catalogs import AWS_BUNDLE
from iceberg_zorder.spark.session import EXTENSIONS, jar_settings

SPARK_HOME = Path(pyspark.__file__).parent
ENVIRONMENT = {**os.environ, "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
SCRIPT = (
    "CREATE TABLE lake.db.t USING iceberg AS SELECT id, id % 50 AS a, hash(id) AS b FROM range(0, 20000, 1, 6);"
    "CALL lake.system.rewrite_data_files(table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, b)',"
    " options => map('rewrite-all', 'true'));"
    "SELECT count(*), sum(id), count(DISTINCT id) FROM lake.db.t;"
    "SELECT operation, summary['zorder.columns'] AS columns FROM lake.db.t.snapshots ORDER BY committed_at;"
)


def settings(directory: Path, jars: str, catalog: Mapping[str, str] | None = None) -> list[str]:
    catalog = catalog or {"type": "hadoop", "warehouse": f"file://{directory}/warehouse"}
    pairs = {
        "spark.jars": jars,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": f"file://{directory}/spark-warehouse",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    }
    pairs |= {f"spark.sql.catalog.lake.{key}": value for key, value in catalog.items()}
    extensions = jar_settings({}).get(EXTENSIONS)
    pairs |= {EXTENSIONS: extensions} if extensions else {}
    return [argument for key, value in pairs.items() for argument in ("--conf", f"{key}={value}")]


def free_port(below: int = 65_536) -> int:
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port < below:
            return port


@contextmanager
def running(directory: Path, name: str, *command: str, **environment: str) -> Iterator[Path]:
    """A server in the background, stopped by its pid; yields its log."""
    log = directory / f"{name}.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            command,
            cwd=directory,
            env={**ENVIRONMENT, **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield log
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def wait(until: Callable[[], bool], log: Path) -> None:
    for _ in range(240):
        if until():
            return
        time.sleep(0.5)
    raise AssertionError(log.read_text()[-3000:])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def alive_workers(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/", timeout=5) as answer:
        return int(json.load(answer)["aliveworkers"])


def run(directory: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_a_cluster_of_two_workers(tmp_path: Path, jars: str) -> None:
    port, web = free_port(), free_port()
    spark_class = str(SPARK_HOME / "bin" / "spark-class")
    master = [spark_class, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
    worker = [
        spark_class,
        "org.apache.spark.deploy.worker.Worker",
        "--host",
        "127.0.0.1",
        "--cores",
        "1",
        "--memory",
        "1g",
    ]
    url = f"spark://127.0.0.1:{port}"
    with running(tmp_path, "master", *master, "--port", str(port), "--webui-port", str(web)) as log:
        wait(lambda: listens(port) and listens(web), log)
        with (
            running(tmp_path, "worker1", *worker, "--work-dir", str(tmp_path / "work1"), url) as first,
            running(tmp_path, "worker2", *worker, "--work-dir", str(tmp_path / "work2"), url),
        ):
            wait(lambda: alive_workers(web) == 2, first)
            spark_sql = [str(SPARK_HOME / "bin" / "spark-sql"), "--master", url, "--executor-memory", "600m"]
            out = run(tmp_path, *spark_sql, *settings(tmp_path, jars), "-e", SCRIPT)
            executors = list(tmp_path.glob("work*/app-*/*/stderr"))
    assert {executor.relative_to(tmp_path).parts[0] for executor in executors} == {"work1", "work2"}
    lines = out.strip().splitlines()
    assert lines[-3].split() == ["20000", "199990000", "20000"]
    assert lines[-2].split() == ["append", "NULL"]
    assert lines[-1].split() == ["replace", "a,b"]


def test_the_thrift_server(tmp_path: Path, jars: str) -> None:
    port = free_port()
    server = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local[2]", *settings(tmp_path, jars)]
    server += ["--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal"]
    server += [
        "--hiveconf",
        f"hive.server2.thrift.port={port}",
        "--hiveconf",
        "hive.server2.thrift.bind.host=127.0.0.1",
    ]
    with running(tmp_path, "thrift", *server) as log:
        wait(lambda: listens(port), log)
        beeline = [str(SPARK_HOME / "bin" / "beeline"), "-u", f"jdbc:hive2://127.0.0.1:{port}/", "--outputformat=tsv2"]
        out = run(tmp_path, *beeline, "--silent=true", "-e", SCRIPT)
    lines = [line.split() for line in out.strip().splitlines()]
    assert ["20000", "199990000", "20000"] in lines
    assert lines[-2:] == [["append", "NULL"], ["replace", "a,b"]]


@pytest.fixture
def seaweed(tmp_path: Path) -> Iterator[dict[str, str]]:
    """SeaweedFS with an S3 bucket and a REST catalog; yields the catalog's properties."""
    servers = ("master", "volume", "filer", "admin", "s3", "s3.port.iceberg")
    ports = {server: free_port(below=50_000) for server in servers}
    names = {server: server if "." in server else f"{server}.port" for server in servers}
    command = [str(Path(sys.executable).parent / "weed"), "-logtostderr", "mini", f"-dir={tmp_path}/weed"]
    command += [
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-master.telemetry=false",
        "-bucket=warehouse",
        "-tableBucket=lake",
    ]
    command += ["-webdav=false", "-admin.ui=false", "-s3.port.lance=0"]
    command += [f"-{names[server]}={port}" for server, port in ports.items()]
    (tmp_path / "weed").mkdir()
    try:
        with running(tmp_path, "weed", *command, AWS_ACCESS_KEY_ID="admin", AWS_SECRET_ACCESS_KEY="secret") as log:
            wait(lambda: listens(ports["s3"]) and listens(ports["s3.port.iceberg"]), log)
            uri = f"http://127.0.0.1:{ports['s3.port.iceberg']}"
            yield {
                "type": "rest",
                "uri": uri,
                "oauth2-server-uri": f"{uri}/v1/oauth/tokens",
                "warehouse": "s3://lake",
                "credential": "admin:secret",
                "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
                "s3.endpoint": f"http://127.0.0.1:{ports['s3']}",
                "s3.path-style-access": "true",
                "s3.access-key-id": "admin",
                "s3.secret-access-key": "secret",
                "client.region": "us-east-1",
            }
    finally:
        # It leaves sockets in the directory for temporary files, named by its ports and by those 10,000 above.
        for port in ports.values():
            for path in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                path.unlink()
            for path in Path("/tmp").glob(f"seaweedfs-*-{port + 10_000}.sock"):
                path.unlink()


def test_a_rest_catalog_with_files_in_s3(tmp_path: Path, jars: str, seaweed: dict[str, str]) -> None:
    spark_sql = [str(SPARK_HOME / "bin" / "spark-sql"), "--master", "local[2]", "--packages", AWS_BUNDLE]
    out = run(tmp_path, *spark_sql, *settings(tmp_path, jars, seaweed), "-e", f"CREATE NAMESPACE lake.db; {SCRIPT}")
    lines = out.strip().splitlines()
    assert lines[-3].split() == ["20000", "199990000", "20000"]
    assert [line.split() for line in lines[-2:]] == [["append", "NULL"], ["replace", "a,b"]]
    catalog = load_catalog("lake", **seaweed)
    paths = catalog.load_table("db.t").inspect.files()["file_path"].to_pylist()
    assert all(path.startswith("s3://") for path in paths)
