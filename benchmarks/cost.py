"""What a statement costs: CPU seconds, wall time, bytes read and shuffled, peak memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from quickstart.measure import bytes_read_so_far


@dataclass(frozen=True)
class Cost:
    """What one run cost, all counted in Spark's JVM.

    Parameters
    ----------
    cpu_seconds : float
        User and system time.
    wall_seconds : float
        From the call to its result.
    read_bytes : int
        What the process read, less what it read back of its own shuffles.
    shuffle_bytes : int
        Written to shuffles.
    spilled_bytes : int
        Written to disk because execution memory was short.
    peak_rss_bytes : int
        The largest resident set meanwhile.
    """

    cpu_seconds: float
    wall_seconds: float
    read_bytes: int
    shuffle_bytes: int
    spilled_bytes: int
    peak_rss_bytes: int


@dataclass(frozen=True)
class _Counters:
    cpu: float
    wall: float
    read: int
    shuffle_read: int
    shuffle_written: int
    spilled: int


def measured(spark: SparkSession, run: Callable[[], object]) -> Cost:
    """Run something and count.

    Parameters
    ----------
    spark : SparkSession
        A session whose executors are threads of its own JVM (``local[n]``), on Linux.
    run : callable
        What to count.

    Returns
    -------
    Cost
        The difference of the counters after and before.
    """
    process = _process(spark)
    jvm: Any = spark.sparkContext._jvm
    jvm.System.gc()
    (process / "clear_refs").write_text("5")  # resets the peak
    before = _counters(spark, process)
    run()
    after = _counters(spark, process)
    return Cost(
        cpu_seconds=after.cpu - before.cpu,
        wall_seconds=after.wall - before.wall,
        read_bytes=(after.read - before.read) - (after.shuffle_read - before.shuffle_read),
        shuffle_bytes=after.shuffle_written - before.shuffle_written,
        spilled_bytes=after.spilled - before.spilled,
        peak_rss_bytes=_peak_rss(process),
    )


def _process(spark: SparkSession) -> Path:
    jvm: Any = spark.sparkContext._jvm
    return Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}")


def _peak_rss(process: Path) -> int:
    line = next(line for line in (process / "status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _counters(spark: SparkSession, process: Path) -> _Counters:
    wall = time.perf_counter()
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    read = bytes_read_so_far(spark)
    if read is None:
        raise RuntimeError("Cannot count what Spark reads, because this system does not count it: Linux is needed")
    stages = stages_so_far(spark)
    return _Counters(
        cpu,
        wall,
        read,
        sum(stage.shuffleReadBytes() for stage in stages),
        sum(stage.shuffleWriteBytes() for stage in stages),
        sum(stage.diskBytesSpilled() for stage in stages),
    )


def stages_so_far(spark: SparkSession) -> list[Any]:
    """List what Spark still knows of the stages that it has run."""
    jvm: Any = spark.sparkContext._jvm
    gateway: Any = spark.sparkContext._gateway
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    stages = context.statusStore().stageList(
        None, False, False, gateway.new_array(jvm.double, 0), jvm.java.util.ArrayList()
    )
    return [stages.apply(i) for i in range(stages.size())]
