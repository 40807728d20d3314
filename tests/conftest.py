"""What tests of several rooms start from; Spark and DuckDB are imported by the rooms that use them only."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import Engine, event

from tests.full_tier import mark_full_tier

if TYPE_CHECKING:
    from sqlite3 import Connection

    import duckdb
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

# In this order, before all others: with a long module in the end a worker of `make test` would wait for the other.
LONG_ROOMS = ("tests/spark", "tests/pyiceberg", "tests/cli")

# A test ends before what Java's second compiler makes of its code has paid for itself, and its heap is too small for threads
# that collect it beside the work. Processes of tests inherit this.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A shell has what it runs in its background ignore SIGINT, and so would the processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Neither how long an example takes decides a test nor which examples a run happens to draw: they depend on the test alone.
settings.register_profile("tests", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


@event.listens_for(Engine, "connect")
def _wait_for_no_disk(connection: Connection, _: object) -> None:
    """A catalog of a test need not outlive a loss of power; each commit to SQLite waited 10 ms for the disk."""
    if type(connection).__module__ == "sqlite3":
        connection.execute("PRAGMA synchronous = OFF")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `full_tier.yaml` names before `-m` chooses by marks, and put the rooms that take long first."""
    mark_full_tier(items, config.rootpath)
    items.sort(key=lambda item: [not item.nodeid.startswith(room) for room in LONG_ROOMS])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """With ``--dist loadfile`` one worker gets all modules of Spark: a JVM takes half a minute until it runs fast."""
    from xdist.scheduler import LoadFileScheduling

    if config.getvalue("dist") != "loadfile":
        return None

    class OneSpark(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            return LONG_ROOMS[0] if scope.startswith((LONG_ROOMS[0], "tests/test_readme.py")) else scope

    return OneSpark(config, log)


@pytest.fixture(scope="session")
def lake_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that holds the SQLite catalog and the warehouse."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def spark(lake_dir: Path) -> Iterator[SparkSession]:
    """One Spark session for all tests."""
    from tests.spark_session import spark_session

    with spark_session(lake_dir) as session:
        yield session


@pytest.fixture(scope="session")
def jars(spark: SparkSession) -> str:
    """The plugin and the Iceberg runtime that the test session has resolved, as ``--jars`` takes them."""
    from tests.spark_session import resolved_jars

    return resolved_jars(spark)


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with its Iceberg reader, which shares no code with us, from packages of PyPI."""
    from tests.fuzz.readers import duckdb_with_iceberg

    connection = duckdb_with_iceberg()
    yield connection
    connection.close()
