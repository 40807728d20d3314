"""Other ways to reach Spark and the table than the session and the catalog of the other tests."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import StaticTable

from iceberg_zorder import __version__
from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.spark.catalogs import AWS_BUNDLE, POSTGRESQL_DRIVER
from iceberg_zorder.spark.session import EXTENSIONS, PLUGIN_JAR, jar_settings
from tests.spark.tables import SPARK
from tests.stack import servers

pytestmark = pytest.mark.way


def script(catalog: str = "lake", procedure: str = "lake.system.rewrite_data_files") -> str:
    return (
        f"CREATE TABLE {catalog}.db.t USING iceberg AS SELECT id, id % 50 AS a, hash(id) AS b FROM range(0, 20000, 1, 6);"
        f"CALL {procedure}(table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, b)',"
        " options => map('rewrite-all', 'true'));"
        f"SELECT count(*), sum(id), count(DISTINCT id) FROM {catalog}.db.t;"
        f"SELECT operation, summary['zorder.columns'] AS columns FROM {catalog}.db.t.snapshots ORDER BY committed_at;"
    )


JOIN = (
    "CREATE TABLE lake.db.fact USING iceberg AS SELECT id FROM range(0, 8000, 1, 8);"
    "CREATE TABLE lake.db.dim USING iceberg AS SELECT id AS k, id DIV 1000 AS g FROM range(8000);"
    # Tables that Spark may broadcast take no keys.
    "SET spark.sql.autoBroadcastJoinThreshold = 1000;"
    "EXPLAIN SELECT /*+ BROADCAST(dim) */ count(*) FROM lake.db.fact JOIN lake.db.dim ON id = k WHERE g = 3;"
    "SELECT /*+ BROADCAST(dim) */ count(*) FROM lake.db.fact JOIN lake.db.dim ON id = k WHERE g = 3;"
)
"""A join that skips seven of eight files by keys of a column without partitions, and its plan."""


def held(out: str) -> bool:
    """Whether the script's rows are all there, after one snapshot more."""
    lines = [line.split() for line in out.strip().splitlines()]
    return ["20000", "199990000", "20000"] in lines and lines[-2:] == [["append", "NULL"], ["replace", "a,b"]]


def settings(
    directory: Path, jars: str = "", catalog: Mapping[str, str] | None = None, name: str = "lake"
) -> list[str]:
    catalog = catalog or {"type": "hadoop", "warehouse": f"file://{directory}/warehouse"}
    kind = "SparkSessionCatalog" if name == "spark_catalog" else "SparkCatalog"
    pairs = {
        **({"spark.jars": jars} if jars else {}),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": f"file://{directory}/spark-warehouse",
        f"spark.sql.catalog.{name}": f"org.apache.iceberg.spark.{kind}",
    }
    pairs |= {f"spark.sql.catalog.{name}.{key}": value for key, value in catalog.items()}
    # Spark 4 needs none, not even Iceberg's.
    extensions = jar_settings({})[EXTENSIONS] if SPARK < (4, 0) else None
    return servers.conf(pairs | ({EXTENSIONS: extensions} if extensions else {}))


def ran(directory: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**servers.ENVIRONMENT, **environment}
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def run(directory: Path, *command: str, **environment: str) -> str:
    done = ran(directory, *command, **environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def shell(*arguments: str, sql: str, master: str = "local[2]") -> list[str]:
    return [str(servers.SPARK_HOME / "bin" / "spark-sql"), "--master", master, *arguments, "-e", sql]


def spark_sql(directory: Path, *arguments: str, sql: str, master: str = "local[2]") -> str:
    return run(directory, *shell(*arguments, sql=sql, master=master))


# The shell's own catalog, Hive's by default.
@pytest.mark.parametrize("catalog", ["in-memory", "hive"])
def test_two_jars_are_all_the_setup(tmp_path: Path, jars: str, catalog: str) -> None:
    arguments = [*settings(tmp_path), "--conf", f"spark.sql.catalogImplementation={catalog}", "--jars", jars]
    nothing = (
        "CALL lake.system.rewrite_data_files(table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, b)');"
    )
    done = ran(tmp_path, *shell(*arguments, sql=script() + nothing))
    assert done.returncode == 0, done.stderr
    first, *others, last = done.stdout.splitlines()
    assert first.split()[:2] == ["6", "1"]
    assert held("\n".join(others))
    assert last.split() == ["0"] * 5
    assert "Nothing to rewrite in lake.db.t: " in done.stderr, "the log says why the second call did nothing"


def test_a_mistyped_strategy_is_answered_with_ours_without_icebergs_extension(tmp_path: Path, jars: str) -> None:
    sql = script().replace("strategy => 'zorder'", "strategy => 'zordr'")
    done = ran(tmp_path, *shell(*settings(tmp_path), "--jars", jars, sql=sql))
    assert done.returncode != 0
    assert "there is no strategy 'zordr': there are 'zorder' (of iceberg-zorder)" in done.stderr


def test_without_iceberg_the_session_starts_and_one_line_says_what_is_missing(tmp_path: Path) -> None:
    ours = servers.conf({EXTENSIONS: "io.icebergzorder.spark.IcebergZOrderExtensions"}) if SPARK < (4, 0) else []
    done = ran(tmp_path, *shell(*settings(tmp_path), *ours, "--jars", str(PLUGIN_JAR), sql="SELECT 6 * 7"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "42"
    assert done.stderr.count("Cannot offer strategy 'zorder', because Iceberg's Spark runtime is not visible") == 1


def test_a_cluster_of_two_workers_and_kryo(tmp_path: Path, jars: str) -> None:
    """Broadcasts are written with the user's serializer, which knows nothing of our classes."""
    kryo = servers.conf({"spark.serializer": "org.apache.spark.serializer.KryoSerializer"})
    with servers.cluster(tmp_path) as master:
        arguments = ["--executor-memory", "600m", *kryo, *settings(tmp_path, jars)]
        assert held(spark_sql(tmp_path, *arguments, sql=script(), master=master))
        executors = list(tmp_path.glob("work*/app-*/*/stderr"))
    assert {executor.relative_to(tmp_path).parts[0] for executor in executors} == {"work1", "work2"}


def test_the_thrift_server(tmp_path: Path, jars: str) -> None:
    with servers.thrift_server(tmp_path, "local[2]", settings(tmp_path, jars)) as url:
        beeline = [str(servers.SPARK_HOME / "bin" / "beeline"), "-u", url, "--outputformat=tsv2", "--silent=true"]
        assert held(run(tmp_path, *beeline, "-e", script()))
        out = run(tmp_path, *beeline, "-e", JOIN)
    assert "dynamicpruning" in out
    assert out.split()[-1] == "1000"


CLIENT = r"""
import json, sys, threading, time
from pathlib import Path
from pyspark.sql import SparkSession
from iceberg_zorder.spark import rewrite_data_files

url, directory = sys.argv[1:]
spark = SparkSession.builder.remote(url).getOrCreate()
spark.sql("CREATE TABLE lake.db.t USING iceberg AS SELECT id, hash(id) AS a, uuid() AS b FROM range(0, 1500000, 1, 8)")
whole = rewrite_data_files(spark, "lake.db.t", ["a", "id"], options={"rewrite-all": True})
data = Path(directory, "warehouse", "db", "t", "data")
known = set(data.glob("*.parquet"))
said = []

def rewrite():
    try:
        rewrite_data_files(spark, "lake.db.t", ["a", "id"], options={"rewrite-all": True, "target-file-size-bytes": 4_000_000})
    except Exception as error:
        said.append(str(error))

thread = threading.Thread(target=rewrite)
thread.start()
while not set(data.glob("*.parquet")) - known:
    time.sleep(0.01)
interrupted = spark.interruptAll()
thread.join()
# Tasks that are told to stop do so at the next row, and the client does not wait for them.
deadline = time.monotonic() + 60
while set(data.glob("*.parquet")) - known and time.monotonic() < deadline:
    time.sleep(0.1)
print(json.dumps({
    "added": whole.added_data_files_count,
    "said": said,
    "interrupted": len(interrupted),
    "left": len(set(data.glob("*.parquet")) - known),
    "rows": spark.sql("SELECT count(DISTINCT id) FROM lake.db.t").collect()[0][0],
    "operations": [row[0] for row in spark.sql("SELECT operation FROM lake.db.t.snapshots ORDER BY committed_at").collect()],
}))
spark.stop()
"""


def test_a_connect_server_and_an_interrupt_through_it(tmp_path: Path, jars: str) -> None:
    pytest.importorskip("grpc", reason="PySpark's Connect client is not installed")
    if SPARK < (4, 0):
        pytest.skip("PySpark 3.5 comes without the server")
    with servers.connect_server(tmp_path, "local[2]", settings(tmp_path, jars)) as url:
        out = json.loads(run(tmp_path, sys.executable, "-c", CLIENT, url, str(tmp_path)).splitlines()[-1])
    assert out["added"] >= 1
    assert len(out["said"]) == 1
    assert (out["rows"], out["operations"]) == (1_500_000, ["append", "replace"])
    # Each core may have ended one while the job was being cancelled.
    assert out["left"] <= 2


def test_ctrl_c_in_the_shell(tmp_path: Path, jars: str) -> None:
    sql = (
        "CREATE TABLE lake.db.t USING iceberg AS SELECT id, hash(id) AS a, uuid() AS b FROM range(0, 1500000, 1, 8);"
        "CALL lake.system.rewrite_data_files(table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, id)',"
        " options => map('rewrite-all', 'true', 'target-file-size-bytes', '4000000'));"
    )
    # With -e the shell leaves the signal to the JVM, which ends; as somebody types, it cancels the statement.
    (tmp_path / "typed.sql").write_text(sql.replace(";", ";\n"))
    spark = [str(servers.SPARK_HOME / "bin" / "spark-sql"), "--master", "local[2]", *settings(tmp_path, jars)]
    shell = ["bash", "-c", f"exec {shlex.join(spark)} < typed.sql"]
    data = tmp_path / "warehouse" / "db" / "t" / "data"
    with servers.running(tmp_path, "shell", shell) as log:
        # What one task of the eight writes is whole when the table is there, and what comes then is the rewrite's.
        servers.wait(lambda: bool(list((data.parent / "metadata").glob("v*.metadata.json"))), log)
        known = set(data.glob("*.parquet"))
        assert len(known) == 8
        while not set(data.glob("*.parquet")) - known:
            time.sleep(0.01)
        process = next(
            pid for pid in servers.children_of(os.getpid()) if "SparkSQLCLIDriver" in servers.command_of(pid)
        )
        os.kill(process, signal.SIGINT)
        servers.wait(lambda: "Cannot complete the rewrite of" in log.read_text(), log)
        servers.wait(lambda: not Path(f"/proc/{process}").exists() or not servers.command_of(process), log)
    # Each core may have ended one while the job was being cancelled, and the shell ends without waiting for its tasks.
    assert known <= set(data.glob("*.parquet"))
    assert len(set(data.glob("*.parquet")) - known) <= 2
    newest = max((data.parent / "metadata").glob("v*.metadata.json"))
    table = StaticTable.from_metadata(str(newest))
    assert [snapshot.summary.operation.value for snapshot in table.snapshots() if snapshot.summary] == ["append"]


@pytest.fixture
def seaweed(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    with servers.seaweedfs(tmp_path) as properties:
        yield properties


def test_a_rest_catalog_with_files_in_s3(tmp_path: Path, jars: str, seaweed: Mapping[str, str]) -> None:
    arguments = ["--packages", AWS_BUNDLE, *settings(tmp_path, jars, seaweed)]
    assert held(spark_sql(tmp_path, *arguments, sql=f"CREATE NAMESPACE lake.db; {script()}"))
    table = load_catalog("lake", **seaweed).load_table("db.t")
    paths = table.inspect.files()["file_path"].to_pylist()
    assert all(path.startswith("s3://") for path in paths)
    # Buckets of tables take no file that is not named as Iceberg's are.
    again = rewrite_data_files(table, ["a", "b"], options={"rewrite-all": True})
    assert (again.rewritten_data_files_count, again.added_data_files_count) == (len(paths), len(paths))


def test_a_catalog_in_postgresql(tmp_path: Path, jars: str) -> None:
    with servers.postgresql() as database:
        properties = {
            "type": "jdbc",
            "uri": f"jdbc:postgresql://{database}",
            "jdbc.user": "postgres",
            "jdbc.schema-version": "V1",
            "warehouse": f"file://{tmp_path}/warehouse",
        }
        arguments = ["--packages", POSTGRESQL_DRIVER, *settings(tmp_path, jars, properties)]
        assert held(spark_sql(tmp_path, *arguments, sql=f"CREATE NAMESPACE lake.db; {script()}"))


@pytest.mark.parametrize("procedure", ["spark_catalog.system.rewrite_data_files", "system.rewrite_data_files"])
def test_the_session_catalog(tmp_path: Path, jars: str, procedure: str) -> None:
    arguments = settings(tmp_path, jars, name="spark_catalog")
    sql = f"CREATE NAMESPACE spark_catalog.db; {script('spark_catalog', procedure)}"
    # A table of another format beside it is still Spark's affair.
    sql = f"CREATE TABLE plain USING parquet AS SELECT 1 AS one; SELECT one FROM plain; {sql}"
    assert held(spark_sql(tmp_path, *arguments, sql=sql))


def test_the_jars_directory(tmp_path: Path, jars: str) -> None:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    for part in servers.SPARK_HOME.iterdir():
        if part.name != "jars":
            (home / part.name).symlink_to(part)
    for jar in (*(servers.SPARK_HOME / "jars").iterdir(), *map(Path, jars.split(","))):
        (home / "jars" / jar.name).symlink_to(jar)
    arguments = ["--master", "local[2]", *settings(tmp_path)]
    out = run(tmp_path, str(home / "bin" / "spark-sql"), *arguments, "-e", script(), SPARK_HOME=str(home))
    assert held(out)


def test_a_package_of_a_maven_repository(tmp_path: Path, jars: str) -> None:
    name = "iceberg-zorder-spark"
    coordinates = f"io.icebergzorder:{name}:{__version__}"
    place = tmp_path / "repository" / "io" / "icebergzorder" / name / __version__
    place.mkdir(parents=True)
    (place / f"{name}-{__version__}.jar").write_bytes(PLUGIN_JAR.read_bytes())
    (place / f"{name}-{__version__}.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>io.icebergzorder</groupId>"
        f"<artifactId>{name}</artifactId><version>{__version__}</version></project>"
    )
    runtime = next(jar for jar in jars.split(",") if "iceberg-spark-runtime" in jar)
    arguments = ["--packages", coordinates, "--repositories", f"file://{tmp_path}/repository"]
    arguments += [*settings(tmp_path, runtime), *servers.conf({"spark.jars.ivy": f"{tmp_path}/ivy"})]
    assert held(spark_sql(tmp_path, *arguments, sql=script()))
