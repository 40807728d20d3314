"""Executors that are killed while a rewrite runs.

The rule: whatever befalls executors, the rewrite ends well with the same rows in the same files as if nothing had. What lost attempts
have written is for ``remove_orphan_files``.
"""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.spark.test_ways_in import run, settings
from tests.stack.servers import conf

ROWS, FILES = 300_000, 24
# A third of the rows has one value, which fills several files: nothing but their place in the table tells many apart.
DRIVER = """
import json, os, signal, sys, threading, time
from pyspark.sql import SparkSession
from tests.stack.servers import children_of, command_of

ROWS, FILES = map(int, sys.argv[1:])
spark = SparkSession.builder.getOrCreate()
tracker = spark.sparkContext.statusTracker()
# A task for each file, however small.
spark.sql(
    "CREATE TABLE lake.db.t USING iceberg TBLPROPERTIES ('read.split.open-file-cost' = '134217728') AS SELECT id, "
    "if(id % 3 = 0, 0, hash(id)) AS a, cast(id * 7919 % 5 AS int) AS b, concat('row ', id) AS payload "
    f"FROM range(0, {ROWS}, 1, 8)"
)
size = spark.sql("SELECT sum(file_size_in_bytes) FROM lake.db.t.files").first()[0] // FILES
snapshot = spark.sql("SELECT snapshot_id FROM lake.db.t.snapshots").first()[0]

def executors():
    return [pid for pid in children_of(os.getpid()) if "CoarseGrainedExecutorBackend" in command_of(pid)]

def running():
    # How many stages a job has, and which of them has tasks that are done and others that run.
    for job in tracker.getActiveJobsIds():
        info = tracker.getJobInfo(job)
        stages = sorted(info.stageIds) if info else []
        for number, stage in enumerate(stages):
            known = tracker.getStageInfo(stage)
            if known:
                attempts.append(known.currentAttemptId)
            if known and known.numActiveTasks and known.numCompletedTasks:
                yield len(stages), number

def kill_once_in(moment):
    while not over.is_set():
        if moment in list(running()) and not killed:
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)
        time.sleep(0.005)

# The sample is a job of one stage; the rewrite has a map stage before it writes.
for moment in (None, (1, 0), (2, 0), (2, 1)):
    killed, attempts = [], [0]
    for _ in range(10):  # one that was over before its moment was seen is run again
        spark.sql(f"CALL lake.system.rollback_to_snapshot('db.t', {snapshot})")
        while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3 or len(executors()) < 2:
            time.sleep(0.1)
        over = threading.Event()
        watch = threading.Thread(target=kill_once_in, args=[moment])
        watch.start()
        spark.sql(
            "CALL lake.system.rewrite_data_files(table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, b)',"
            f" options => map('rewrite-all', 'true', 'target-file-size-bytes', '{size}'))"
        ).collect()
        over.set()
        watch.join()
        if killed or not moment:
            break
    rows = spark.sql("SELECT count(*), count(DISTINCT id), sum(id), sum(hash(id, payload)) FROM lake.db.t").first()
    of_files = "SELECT sum(cast(xxhash64(id) AS decimal(38, 0))) FROM lake.db.t GROUP BY _file ORDER BY 1"
    files = [str(each[0]) for each in spark.sql(of_files).collect()]
    print(json.dumps([len(killed), max(attempts), list(rows), files]), flush=True)
"""


@pytest.mark.full
def test_rows_and_files_are_the_same(tmp_path: Path, jars: str) -> None:
    # What a dead executor has shuffled is gone, as it would be with its machine, and that is told soon.
    lost = {"readHostLocalDisk": "false", "io.maxRetries": "1", "io.retryWait": "100ms"}
    arguments = [*settings(tmp_path, jars), *conf({f"spark.shuffle.{name}": value for name, value in lost.items()})]
    words = shlex.join(["--master", "local-cluster[2,1,1024]", *arguments, "pyspark-shell"])
    out = run(
        tmp_path, sys.executable, "-c", DRIVER, str(ROWS), str(FILES),
        PYSPARK_SUBMIT_ARGS=words, PYTHONPATH=str(Path(__file__).parents[2]),
    )  # fmt: skip
    undisturbed, *disturbed = [json.loads(line) for line in out.splitlines() if line.startswith("[")]
    rows, files = undisturbed[2:]
    assert (rows[:3], len(files)) == ([ROWS, ROWS, ROWS * (ROWS - 1) // 2], FILES)
    assert [(kills, *told) for kills, _, *told in disturbed] == [(1, rows, files)] * 3
    # What the last one had shuffled was lost with it, and had to be made again.
    assert disturbed[-1][1] >= 1
