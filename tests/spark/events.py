"""What Spark says while a test runs: to its listeners, as Spark's own event log writes it, and to its log."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

Event = dict[str, Any]


@contextmanager
def event_log(spark: SparkSession, directory: Path) -> Iterator[list[Event]]:
    """Listen until the block is left; the list is filled then, with changes of blocks among the events."""
    jvm, context = spark.sparkContext._jvm, spark.sparkContext._jsc.sc()
    assert jvm is not None
    settings = context.getConf().set("spark.eventLog.logBlockUpdates.enabled", "true")
    settings.set("spark.eventLog.rolling.enabled", "false").set("spark.eventLog.compress", "false")
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        "test", jvm.scala.Option.empty(), jvm.java.net.URI(directory.as_uri()), settings
    )
    listener.start()
    context.addSparkListener(listener)
    events: list[Event] = []
    try:
        yield events
        context.listenerBus().waitUntilEmpty()
    finally:
        context.removeSparkListener(listener)
        listener.stop()
    events += [json.loads(line) for line in (directory / "test").read_text().splitlines()]


@contextmanager
def logged(spark: SparkSession, file: Path, level: str) -> Iterator[None]:
    """Write to a file what the JVM logs at a level such as ``ERROR``, or above it, until the block is left."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    log4j = jvm.org.apache.logging.log4j
    context = log4j.LogManager.getContext(False)
    root = context.getConfiguration().getRootLogger()
    appender = log4j.core.appender.FileAppender.newBuilder().withFileName(str(file)).setName(str(file)).build()
    appender.start()
    before, wanted = root.getLevel(), log4j.Level.toLevel(level)
    root.addAppender(appender, wanted, None)
    root.setLevel(wanted)
    context.updateLoggers()
    try:
        yield
    finally:
        root.removeAppender(str(file))
        root.setLevel(before)
        context.updateLoggers()
        appender.stop()
