"""Real servers on this machine, without containers: each starts in a directory of its own, on free ports of 127.0.0.1.

Every one is a context manager that yields what a client needs, once the server answers, and stops it by its pid.
"""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyspark
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchNamespaceError, RESTError

SPARK_HOME = Path(pyspark.__file__).parent
ENVIRONMENT = {**os.environ, "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
# Processes that test at the same time begin at other places.
_PORTS = itertools.cycle([12_000 + (os.getpid() * 20 + each) % 10_000 for each in range(10_000)])


def free_port() -> int:
    """A port that no other call returns, that nothing listens to, and that the system gives to nobody who asks for any.

    A server takes its port seconds after it was chosen, when it and others have asked for any port and made connections.
    The system takes those from 32,768 on; SeaweedFS takes the one 10,000 above each of its own, too.
    """
    while True:
        port = next(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait(until: Callable[[], bool], log: Path) -> None:
    """Wait up to two minutes, and show the end of the server's log if that was in vain."""
    for _ in range(240):
        if until():
            return
        time.sleep(0.5)
    raise AssertionError(log.read_text()[-3000:])


@contextmanager
def running(
    directory: Path, name: str, command: Sequence[str], *, user: str | None = None, **environment: str
) -> Iterator[Path]:
    """A server in the background; yields its log."""
    log = directory / f"{name}.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            command,
            cwd=directory,
            env={**ENVIRONMENT, **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=user,
        )
    try:
        yield log
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


@contextmanager
def cluster(directory: Path) -> Iterator[str]:
    """A standalone Spark cluster of two workers, one core each; yields the master's address."""
    port, web = free_port(), free_port()
    program, local = str(SPARK_HOME / "bin" / "spark-class"), ("--host", "127.0.0.1")
    master, address = [program, "org.apache.spark.deploy.master.Master", *local], f"spark://127.0.0.1:{port}"
    worker = [program, "org.apache.spark.deploy.worker.Worker", *local, "--cores", "1", "--memory", "1g"]
    with ExitStack() as stack:
        ports = ("--port", str(port), "--webui-port", str(web))
        log = stack.enter_context(running(directory, "master", [*master, *ports]))
        wait(lambda: listens(port) and listens(web), log)
        for name in ("work1", "work2"):
            command = [*worker, "--work-dir", str(directory / name), address]
            of_worker = stack.enter_context(running(directory, name, command))
            wait(lambda log=of_worker: "Successfully registered with master" in log.read_text(), of_worker)  # type: ignore[misc]
        yield address


def command_of(process: int) -> str:
    """The command line of a process; empty when it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except FileNotFoundError:
        return ""


def children_of(process: int) -> list[int]:
    """The processes that any thread of a process has started, and those that they have."""
    own = []
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            own += [int(child) for child in thread.read_text().split()]
    return [*own, *(each for child in own for each in children_of(child))]


def conf(pairs: Mapping[str, str]) -> list[str]:
    """Settings as Spark's programs take them."""
    return [argument for key, value in pairs.items() for argument in ("--conf", f"{key}={value}")]


def submit(master: str, settings: Sequence[str], main_class: str) -> list[str]:
    return [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master, *settings, "--class", main_class]


@contextmanager
def thrift_server(directory: Path, master: str, settings: Sequence[str]) -> Iterator[str]:
    """Spark's Thrift server; yields its JDBC address."""
    port = free_port()
    command = submit(master, settings, "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2")
    command += ["spark-internal", "--hiveconf", f"hive.server2.thrift.port={port}"]
    command += ["--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"]
    with running(directory, "thrift", command) as log:
        wait(lambda: listens(port), log)
        yield f"jdbc:hive2://127.0.0.1:{port}/"


@contextmanager
def connect_server(directory: Path, master: str, settings: Sequence[str]) -> Iterator[str]:
    """A Spark Connect server; yields its address."""
    port = free_port()
    settings = [*settings, "--conf", f"spark.connect.grpc.binding.port={port}"]
    settings += ["--conf", "spark.connect.grpc.binding.address=127.0.0.1"]
    command = submit(master, settings, "org.apache.spark.sql.connect.service.SparkConnectServer")
    with running(directory, "connect", [*command, "spark-internal"]) as log:
        wait(lambda: listens(port), log)
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def postgresql() -> Iterator[str]:
    """PostgreSQL; yields host, port and database, and lets user ``postgres`` in without a password."""
    # PostgreSQL refuses to run as root, and its user could not enter a directory of pytest's.
    user = "postgres" if os.geteuid() == 0 else None
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-postgresql-") as name:
        directory = Path(name)
        if user:
            shutil.chown(directory, user)
        data = str(directory / "data")
        initdb = [_postgresql_program("initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--no-sync"]
        subprocess.run(initdb, cwd=directory, user=user, check=True, capture_output=True)
        server = [_postgresql_program("postgres"), "-D", data, "-p", str(port), "-c", "listen_addresses=127.0.0.1"]
        server += ["-c", f"unix_socket_directories={directory}", "-c", "fsync=off"]
        with running(directory, "postgresql", server, user=user) as log:
            wait(lambda: "ready to accept connections" in log.read_text(), log)
            yield f"127.0.0.1:{port}/postgres"


def _postgresql_program(name: str) -> str:
    """A program of the server, which Debian keeps off the path."""
    if found := shutil.which(name):
        return found
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    if not versions:
        raise FileNotFoundError(f"Cannot start PostgreSQL, because {name} is not installed: ./install-components.sh")
    return str(versions[-1])


def _lists_namespaces(properties: Mapping[str, str]) -> bool:
    try:
        load_catalog("lake", **properties).list_namespaces()
    except (NoSuchNamespaceError, RESTError):
        return False
    return True


@contextmanager
def seaweedfs(directory: Path) -> Iterator[Mapping[str, str]]:
    """SeaweedFS with an S3 bucket and an Iceberg REST catalog; yields the catalog's properties."""
    servers = ("master", "volume", "filer", "admin", "s3", "s3.port.iceberg")
    ports = {server: free_port() for server in servers}
    names = {server: server if "." in server else f"{server}.port" for server in servers}
    command = [str(Path(sys.executable).parent / "weed"), "-logtostderr", "mini", f"-dir={directory}/weed"]
    command += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-bucket=warehouse"]
    command += ["-tableBucket=lake", "-webdav=false", "-admin.ui=false", "-s3.port.lance=0"]
    command += [f"-{names[server]}={port}" for server, port in ports.items()]
    (directory / "weed").mkdir()
    try:
        with running(directory, "weed", command, AWS_ACCESS_KEY_ID="admin", AWS_SECRET_ACCESS_KEY="secret") as log:
            wait(lambda: listens(ports["s3"]) and listens(ports["s3.port.iceberg"]), log)
            uri = f"http://127.0.0.1:{ports['s3.port.iceberg']}"
            properties = {
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
            # The table bucket comes a moment after the ports.
            wait(lambda: _lists_namespaces(properties), log)
            yield properties
    finally:
        # It leaves sockets in the directory for temporary files, named by its ports.
        for port in (*ports.values(), *(port + 10_000 for port in ports.values())):
            for path in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                path.unlink()
