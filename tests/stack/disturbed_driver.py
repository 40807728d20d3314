"""A driver that rewrites one table as often as it is asked, and disturbs the cluster in the midst of it.

Requests and answers are lines of JSON. A request names a moment, an executor, and what befalls it: ``kill`` kills it, and
``kill-machine`` the worker that started it, too. ``{}`` is a rewrite that
nothing disturbs. Before each the table is rolled back to what it was. A rewrite that was over before its moment was seen is run again.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

ROWS = 300_000
# Three of them are small enough to be written by one task, when there are eight tasks for two cores.
FILES = 24
# A third of the rows has one value, which fills several files: nothing but their place in the table tells many apart.
TABLE = (
    "SELECT id, if(id % 3 = 0, 0, hash(id)) AS a, cast(id * 7919 % 5 AS int) AS b, concat('row ', id) AS payload "
    f"FROM range(0, {ROWS}, 1, 8)"
)
# How many stages the job has, and which of them: the sample is a job of its own, the rewrite has a map stage before it writes.
STAGES = {"sample": (1, 0), "map": (2, 0), "write": (2, 1)}
# How often a rewrite is run, until it is disturbed.
TRIES = 10


class Disturbance:
    """What is to befall an executor, on a thread of its own until it has, or until the rewrite is over.

    Parameters
    ----------
    spark : SparkSession
        The driver's session.
    request : dict
        As told above.
    """

    def __init__(self, spark: SparkSession, request: dict[str, Any]) -> None:
        self.is_done = False
        self.attempts = 0
        """The highest number of an attempt of a stage that was seen: 0 when none was tried again."""
        self._spark = spark
        self._tracker = spark.sparkContext.statusTracker()
        self._request = request
        self._shuffled_before = shuffled(spark, request["executor"]) if request else 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Disturbance:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            stages = self._stages()
            if self._request and not self.is_done and STAGES[self._request["moment"]] in stages:
                self.is_done = self._disturb(self._request["executor"])
            time.sleep(0.005)

    def _stages(self) -> list[tuple[int, int]]:
        """The stages of which some tasks are done, and others run."""
        running = []
        for job in self._tracker.getActiveJobsIds():
            info = self._tracker.getJobInfo(job)
            stages = sorted(info.stageIds) if info else []
            for number, stage in enumerate(stages):
                known = self._tracker.getStageInfo(stage)
                if known:
                    self.attempts = max(self.attempts, known.currentAttemptId)
                if known and known.numActiveTasks and known.numCompletedTasks:
                    running.append((len(stages), number))
        return running

    def _disturb(self, executor: int) -> bool:
        # Stopped, it does not finish a file while we look.
        os.kill(executor, signal.SIGSTOP)
        if self._request["moment"] == "write":
            # Where all map tasks ran elsewhere, nothing is to be made again.
            has_shuffled = shuffled(self._spark, executor) > self._shuffled_before
            if not (has_shuffled and writes(executor)):
                os.kill(executor, signal.SIGCONT)
                return False
        if self._request["what"] == "kill":
            os.kill(executor, signal.SIGKILL)
        elif self._request["what"] == "kill-machine":
            os.killpg(os.getpgid(executor), signal.SIGKILL)
        return True


def writes(process: int) -> bool:
    """Whether a process has a data file open to write it."""
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            flags = Path(f"/proc/{process}/fdinfo/{link.name}").read_text().split("flags:")[1].split()[0]
            is_written = int(flags, 8) & os.O_ACCMODE == os.O_WRONLY
            if is_written and "/db/t/data/" in (path := str(link.readlink())) and path.endswith(".parquet"):
                return True
    return False


def executor_id(executor: int) -> str:
    """What Spark calls an executor's process, from its command line."""
    arguments = Path(f"/proc/{executor}/cmdline").read_text().split("\0")
    return arguments[arguments.index("--executor-id") + 1]


def is_registered(spark: SparkSession, executor: int) -> bool:
    """Whether the driver gives tasks to an executor, and keeps its figures."""
    java: Any = spark.sparkContext._jsc
    known = java.sc().statusStore().executorList(True)
    return executor_id(executor) in [known.apply(place).id() for place in range(known.size())]


def shuffled(spark: SparkSession, executor: int) -> int:
    """How many bytes an executor has shuffled in its life, which are lost with it."""
    java: Any = spark.sparkContext._jsc
    return int(java.sc().statusStore().executorSummary(executor_id(executor)).totalShuffleWrite())


def answer(**values: object) -> None:
    print(json.dumps(values), flush=True)


def main() -> None:
    """Create the table, and rewrite it until there are no more requests."""
    spark = SparkSession.builder.getOrCreate()
    # A task for each file, however small.
    one_by_one = "TBLPROPERTIES ('read.split.open-file-cost' = '134217728')"
    spark.sql(f"CREATE TABLE lake.db.t USING iceberg {one_by_one} AS {TABLE}")
    size = spark.sql("SELECT sum(file_size_in_bytes) FROM lake.db.t.files").collect()[0][0] // FILES
    snapshot = spark.sql("SELECT snapshot_id FROM lake.db.t.snapshots").collect()[0][0]
    answer(created=size)
    for line in sys.stdin:
        request = json.loads(line)
        for _ in range(TRIES):
            spark.sql(f"CALL lake.system.rollback_to_snapshot('db.t', {snapshot})")
            while request and not is_registered(spark, request["executor"]):
                time.sleep(0.1)
            with Disturbance(spark, request) as disturbance:
                spark.sql(
                    "CALL lake.system.rewrite_data_files(table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, b)',"
                    f" options => map('rewrite-all', 'true', 'target-file-size-bytes', '{size}'))"
                ).collect()
            if disturbance.is_done or not request:
                break
        answer(disturbed=disturbance.is_done, attempts=disturbance.attempts)


if __name__ == "__main__":
    main()
