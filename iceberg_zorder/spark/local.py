"""A local Spark session for one command; its logs go to a file instead of the terminal."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from iceberg_zorder.spark.session import jar_settings

# The plugin's log lines are marked, to tell them from Spark's.
PLUGIN_MARK = "iceberg-zorder: "

_DEFAULTS = {
    "spark.app.name": "iceberg-zorder",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_LOG4J = f"""\
rootLogger.level = warn
rootLogger.appenderRef.spark.ref = spark
appender.spark.type = Console
appender.spark.name = spark
appender.spark.target = SYSTEM_ERR
appender.spark.layout.type = PatternLayout
appender.spark.layout.pattern = %d{{yy/MM/dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
appender.plugin.type = Console
appender.plugin.name = plugin
appender.plugin.target = SYSTEM_ERR
appender.plugin.layout.type = PatternLayout
appender.plugin.layout.pattern = {PLUGIN_MARK}%m%n%ex
logger.plugin.name = io.icebergzorder
logger.plugin.level = warn
logger.plugin.additivity = false
logger.plugin.appenderRef.plugin.ref = plugin
"""


@contextmanager
def local_session(
    settings: Mapping[str, str], *, session_settings: Mapping[str, str], packages: Iterable[str], directory: Path
) -> Iterator[SparkSession]:
    """Start Spark with the plugin, and stop it afterwards.

    The master is that of Spark's own configuration, else ``local[*]``.
    """
    log4j = directory / "log4j2.properties"
    log4j.write_text(_LOG4J)
    conf = SparkConf()
    for key, value in {**_DEFAULTS, **settings, **jar_settings(settings, extra_packages=packages)}.items():
        conf.set(key, value)
    # PySpark prints a JSON line for every failed query, although it also raises.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    with (directory / "spark.log").open("w") as log:
        try:
            given = os.environ.get("SPARK_SUBMIT_OPTS", "")
            with _environment("SPARK_SUBMIT_OPTS", f"{given} -Dlog4j2.configurationFile={log4j.as_uri()}".lstrip()):
                # In its own session, so that signals to the terminal's process group reach only this process.
                streams = {"stdout": log, "stderr": log, "start_new_session": True}
                gateway = launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise RuntimeError(f"Cannot start Spark, because {_reason(directory)}") from error
        context = SparkContext(conf=conf, gateway=gateway)
        try:
            spark = SparkSession.builder.getOrCreate()
            for key, value in session_settings.items():
                spark.conf.set(key, value)
            yield spark
        finally:
            context.stop()


def plugin_lines(directory: Path) -> list[str]:
    """Return the plugin's warnings in the log of :func:`local_session`, line by line."""
    log = directory / "spark.log"
    if not log.is_file():
        return []
    lines = log.read_text(errors="replace").splitlines()
    return [line.removeprefix(PLUGIN_MARK) for line in lines if line.startswith(PLUGIN_MARK)]


def _reason(directory: Path) -> str:
    """Return why the JVM did not start: its exception, else its last lines."""
    log = (directory / "spark.log").read_text(errors="replace")
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if "getSubject is not supported" in log:
        # HADOOP-19212: the Hadoop inside Spark 4.1 calls a method that newer Java versions removed.
        return "Java is too new for Spark 4.1: set JAVA_HOME to a JDK from 17 to 22"
    thrown = [line for line in lines if line.startswith("Exception in thread")]
    return thrown[0] if thrown else " ".join(lines[-3:]) or "the JVM stopped without output"


@contextmanager
def _environment(variable: str, addition: str) -> Iterator[None]:
    """Extend an environment variable for processes started in the block."""
    before = os.environ.get(variable)
    os.environ[variable] = addition if before is None else f"{before} {addition}"
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before
