"""The command ``plan`` in a process of its own: both engines say the same, and neither writes anything."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from tests.cli.processes import run, run_without_spark

PLANNED = ("db.events", "--by", "`user id`,ts", "--where", "ts < 60", "--branch", "main")
FORCED = ("--option", "rewrite-all=true", "--option", "target-file-size-bytes=2000")


@pytest.mark.full
def test_both_engines_say_the_same(home: Path, catalog: Catalog) -> None:
    table = catalog.load_table("db.events")
    head = table.metadata.current_snapshot_id
    on_disk = sorted(home.rglob("*.parquet"))

    predicates = ("--predicate", "ts < 20", "--predicate", "`user id` = 7")
    asked = (*PLANNED, *FORCED, "--sampled", *predicates, "--output", "json")
    done = run(home, *asked, "--catalog", "files", command="plan")
    assert done.returncode == 0, done.stderr
    assert "Planning the rewrite of files.db.events by `user id`,ts" in done.stderr
    on_spark = json.loads(done.stdout)
    (group,) = on_spark["file_groups"]
    assert (group["data_files_count"], group["rows"], group["reason"]) == (3, 60, "rewrite-all is true")
    assert set(group["layout"]) == {"curve", "data_files_count", "hash", "scan_fractions", "scan_fractions_before"}
    assert (on_spark["snapshot_id"], on_spark["where"]) == (head, "ts < 60")
    assert [each["predicate"] for each in on_spark["predicates"]] == ["ts < 20", "`user id` = 7"]
    assert 0 < on_spark["predicates"][0]["before"] < 1

    done = run_without_spark(home, *asked, command="plan")
    assert done.returncode == 0, done.stderr
    assert "sample: 100%, 60 rows" in done.stderr
    without = json.loads(done.stdout)
    assert list(without) == list(on_spark)
    assert without["predicates"] == on_spark["predicates"]
    assert catalog.load_table("db.events").metadata == table.metadata, "nothing is written"
    assert sorted(home.rglob("*.parquet")) == on_disk

    reported = ("db.events", "--by", "`user id`,ts", "--predicate", "ts >= 40", "--output", "json")
    of_spark = run(home, *reported, "--engine", "spark", "--catalog", "files", command="report")
    reports = [json.loads(each.stdout) for each in (of_spark, run_without_spark(home, *reported, command="report"))]
    for report in reports:
        report["findings"] = [each["code"] for each in report["findings"]]
    assert [report["recommendation"].pop("command").split()[0] for report in reports] == ["CALL", "iceberg-zorder"]
    assert reports[0] == reports[1]


def test_a_table_that_remembers_is_planned_without_columns(home: Path, catalog: Catalog) -> None:
    options = ("--option", "rewrite-all=true", "--option", "column-weights=ts=2, `user id`=0.5")
    done = run_without_spark(home, "db.events", "--by", "`user id`,ts", *options, "--output", "json", command="set")
    assert done.returncode == 0, done.stderr
    properties = {
        "zorder.columns": "`user id`,ts",
        "zorder.options": "rewrite-all=true; column-weights=ts=2, `user id`=0.5",
    }
    assert json.loads(done.stdout) == {"version": 1, "table": "files.db.events", "properties": properties}
    assert properties.items() <= catalog.load_table("db.events").properties.items()

    plan = json.loads(run_without_spark(home, "db.events", "--output", "json", command="plan").stdout)
    assert (plan["sort_order"], plan["options"]["rewrite-all"]) == ("`user id`,ts", "true")
    assert [group["data_files_count"] for group in plan["file_groups"]] == [5]

    ours = ("--option", "rewrite-all=false", "--option", "column-weights=ts=1")
    done = run_without_spark(home, "db.events", "--by", "ts", *ours, command="plan")
    assert "by ts" in done.stdout
    assert "rewrite-all is true" not in done.stdout

    done = run_without_spark(home, "db.events", "--by", "ts", command="set")
    assert done.stdout == "files.db.events remembers\n  zorder.columns = ts\n"
    assert "zorder.options" not in catalog.load_table("db.events").properties
    for option in ("cuts=odd", "no=1", "dry-run=true"):
        done = run_without_spark(home, "db.events", "--by", "ts", "--option", option, command="set")
        assert done.returncode == 2, option
    assert run_without_spark(home, "db.events", "--by", "nope", command="set").returncode == 2
    assert "zorder.options" not in catalog.load_table("db.events").properties


def test_a_size_may_have_a_unit(home: Path, catalog: Catalog) -> None:
    catalog.create_table("db.sized", pa.schema([("a", pa.int64())]))
    for size, read in (("128MB", "128000000"), ("2 MiB", "2097152"), ("7", "7")):
        option = ("--option", f"target-file-size-bytes={size}")
        assert run_without_spark(home, "db.sized", "--by", "a", *option, command="set").returncode == 0
        said = catalog.load_table("db.sized").properties["zorder.options"]
        assert said == f"target-file-size-bytes={read}"
        planned = run_without_spark(home, "db.sized", *option, "--output", "json", command="plan")
        assert json.loads(planned.stdout)["options"] == {"target-file-size-bytes": read}
    done = run_without_spark(home, "db.sized", "--option", "target-file-size-bytes=128 mb", command="plan")
    assert (
        "Cannot set target-file-size-bytes, because '128 mb' is not a size: bytes, or such as 10 GB or 512 MiB"
        in done.stderr
    )
