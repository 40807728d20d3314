"""Spark's event logs say of queries what their SQL says."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.readers.event_log import EventLogReader, filter_of_scan
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import Gathered, Workload

LOGS = Path(__file__).parent / "logs"
TABLE = ScannedTable(
    ("db", "t"),
    {
        ("id",): "long",
        ("i",): "int",
        ("s",): "string",
        ("n",): "decimal(9, 2)",
        ("d",): "double",
        ("f",): "float",
        ("flag",): "boolean",
        ("day",): "date",
        ("at",): "timestamptz",
        ("wall",): "timestamp",
        ("b",): "binary",
        ("st",): "struct<...>",
        ("st", "x"): "int",
        ("st", "y z"): "string",
        ("odd name",): "int",
        ("arr",): "list<int>",
    },
)
# What Spark leaves to rows is not among the filters of its scans, and it says that columns of these are not NULL.
WANTED = {
    "id = 5": 2.0,
    "id > 5 AND s = 'it\\'s, a \"test\" (x) AND id = 3'": 1.0,
    "i < 3 OR s LIKE 's1%'": 1.0,
    "day >= DATE '2024-01-10' AND day < DATE '2024-02-01'": 1.0,
    "at >= TIMESTAMP '2024-01-01 05:00:00.123Z' AND wall < TIMESTAMP_NTZ '2025-01-01 00:00:00'": 1.0,
    "d > 1.5 OR f <= 2.5 OR n = 0.25": 1.0,
    "flag = TRUE AND i <> 3": 1.0,
    "b = X'00FF'": 1.0,
    "`odd name` IN (1, 2, 3) AND st.x = 3 AND st.`y z` <> 'q'": 1.0,
    "i IS NOT NULL AND id IN (1, 2, 3) AND s NOT IN ('a', 'b')": 1.0,
    "TRUE": 1.0,  # isnan(d) OR d IS NULL
    "id < 7 AND s IS NOT NULL": 1.0,
    "at >= TIMESTAMP '2024-01-01 00:00:00Z' AND at < TIMESTAMP '2024-01-02 00:00:00Z' AND day IS NOT NULL": 1.0,
    "i < 40 AND id IS NOT NULL": 1.0,
    "day = DATE '2024-01-03' AND id IS NOT NULL": 1.0,
    "i IS NOT NULL AND s = 's2'": 1.0,
    "i = 4 AND s NOT LIKE 's1%'": 1.0,
    "id IS NOT NULL": 1.0,
    "s > 'a, b' AND s < 'c] (x'": 1.0,
    "s IN ('\\\\', 'x\ny')": 1.0,
    "id = 49 AND s = 's49'": 1.0,  # of a DELETE, that of the files which are copied left out
    "id = 48 AND s LIKE 's4%'": 1.0,  # of an UPDATE
    "day >= DATE '2024-01-02' AND id = 3": 1.0,  # of a MERGE
    "id = 11": 1.0,  # is cached, and counted twice
}


def filters(found: Workload) -> dict[str, float]:
    return {each.filter: each.weight for each in found.queries}


@pytest.mark.parametrize("version", ["spark-4.1", "spark-3.5"])
def test_scans_of_real_logs(version: str) -> None:
    """As Spark 4.1 with Iceberg 1.12 and Spark 3.5 with Iceberg 1.10 wrote them, cut to what is read."""
    found = read_workload([LOGS / f"{version}.jsonl"], TABLE)
    long = {text for text in filters(found) if len(text) > 200}
    assert {text: weight for text, weight in filters(found).items() if text not in long} == WANTED
    assert found.not_understood == ()


def event(*scans: str, root: int = 1, name: str = "BatchScan lake.db.t") -> str:
    plan = {
        "nodeName": "Project",
        "children": [{"nodeName": name, "simpleString": text, "children": []} for text in scans],
    }
    kind = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
    return json.dumps({"Event": kind, "executionId": root, "rootExecutionId": root, "sparkPlanInfo": plan})


def scan(filters: str, *, runtime: str = "", table: str = "lake.db.t", number: int = 1) -> str:
    inside = f"table={table}, schemaId=0, snapshotId=7, branch=null, filters={filters}, runtimeFilters=, groupedBy="
    return f"BatchScan {table}[id#{number}L] IcebergScan({inside}) RuntimeFilters: [{runtime}]"


def added(*lines: str) -> Workload:
    gathered = Gathered()
    EventLogReader(TABLE, gathered).add(lines)
    return gathered.workload()


def test_a_plan_is_counted_once_for_each_execution() -> None:
    found = added(
        event(scan("id = 1"), scan("id = 1")), event(scan("id = 1"), root=2), event(scan("id = 1", number=3), root=2)
    )
    assert filters(found) == {"id = 1": 3.0}
    assert added(event(scan("id = 1", table="lake.other.t"))).elsewhere == 1.0


def test_executions_that_failed_are_not_counted() -> None:
    """As Spark 4.1 wrote it: a query, three that failed, one of them a CREATE TABLE AS SELECT, and one of no plan."""
    found = read_workload([LOGS / "spark-4.1-failed.jsonl"], TABLE)
    assert filters(found) == {"id = 1": 1.0}
    failed = {each.text: (each.kind, each.reason, each.weight) for each in found.not_understood}
    told = ("statement", "its log says that it failed", 1.0)
    assert failed == {f"id IS NOT NULL, id {each}": told for each in (">= 1", "= 2", "> 0")}
    assert found.elsewhere == 2.0


def test_an_execution_without_an_end_is_counted_and_a_retry_is(tmp_path: Path) -> None:
    end = {"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd", "executionId": 1}
    failed, done = (json.dumps({**end, "errorMessage": text}) for text in ("[X] no", ""))
    assert filters(added(event(scan("id = 1")), failed, event(scan("id = 1"), root=2))) == {"id = 1": 1.0}
    assert filters(added(event(scan("id = 1")), failed, event(scan("id = 1")), done)) == {"id = 1": 1.0}
    assert filters(added(event(scan("id = 1")), json.dumps(end))) == {"id = 1": 1.0}, "of Spark before 3.4"


def test_what_is_hidden_or_unknown_is_told() -> None:
    lines = (
        event(scan("*********(redacted)")),
        event(scan("id = 1, soon > 5"), root=2),
        event(scan("id = 1", runtime="dynamicpruningexpression(id#1L IN dynamicpruning#5)"), root=3),
        event("BatchScan lake.db.t[id#1L] SomethingElse filters=[]", root=4),
        event(scan("id = 1"), root=5)[:-30],
    )
    found = added(*lines)
    assert filters(found) == {"TRUE": 1.0, "id = 1": 2.0}
    assert [each.weaker for each in found.queries] == [2.0, 1.0]
    assert {each.reason for each in found.not_understood} == {
        "it is redacted",
        "there is no column soon in db.t",
        "the values that a join finds are not known",
        "this kind of scan is not known",
        "it is not an event of Spark, or is too long",
    }


def test_the_log_of_an_application_that_still_runs(tmp_path: Path) -> None:
    chance = random.Random(1)
    lines = [event(scan(f"id = {number}, s = '{number * 7919}'"), root=number) for number in range(1_000)]
    # Others between them are long, as what is read at once is.
    text = "".join(f'{line}\n{{"Event": "Other", "plan": "{chance.randbytes(3_000).hex()}"}}\n' for line in lines)
    with pa.CompressedOutputStream(str(tmp_path / "whole.zstd"), "zstd") as stream:
        stream.write(text.encode())
    whole = (tmp_path / "whole.zstd").read_bytes()
    path = tmp_path / "events_1_app.zstd.inprogress"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    found = read_workload([path], TABLE)
    assert 200 < found.weight < 1_000
    assert [each.reason for each in found.not_understood if each.text == str(path)] == [
        "its end cannot be decompressed"
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "TRUE"),
        ("true, id = 1", "id = 1"),
        ("NOT ((id = 1 OR i IS NULL))", "i IS NOT NULL AND id <> 1"),
        ("(s LIKE 'it's%' OR s = ')')", "s = ')' OR s LIKE 'it\\'s%'"),
        ("is_nan(d), not_nan(f)", "isnan(d) AND NOT isnan(f)"),
        ("n >= -1.50, f < 1.0E10, d = 2.5", "d = 2.5 AND f < 10000000000 AND n >= -1.5"),
        ("s = '', s LIKE '%'", "s = ''"),
    ],
)
def test_filters_without_escapes(text: str, wanted: str) -> None:
    assert filter_of_scan(text, TABLE).filter == wanted


@pytest.mark.parametrize("text", ["id = ", "(id = 1", "id = 1)", "s = 'x", "id IN (1", "day = 99999999", "("])
def test_filters_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InvalidInputError):
        filter_of_scan(text, TABLE)


def test_parts_that_are_no_conditions_on_columns_are_told() -> None:
    found = filter_of_scan("id, d = NaN, id = 1", TABLE)
    assert (found.filter, len(found.lost)) == ("id = 1", 2)
