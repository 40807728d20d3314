"""The files of a policy's queries: read once an hour, and anew each day."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from iceberg_zorder.maintain import query_files
from iceberg_zorder.maintain.policy.settings import QueryFiles
from iceberg_zorder.maintain.query_files import MOST_QUERIES, QueryFileReader
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import Workload

TABLE = ScannedTable(("db", "t"), {("a",): "long", ("d",): "date"})
BEGAN = datetime(2026, 11, 23, 23, 30, tzinfo=timezone.utc)


def test_files_are_read_once_an_hour_and_anew_each_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minutes, read = [0], [0]
    reader = QueryFileReader(tmp_path, lambda: BEGAN + timedelta(minutes=minutes[0]))

    def counting(*given: Any, **how: Any) -> Workload:
        read[0] += 1
        return read_workload(*given, **how)

    monkeypatch.setattr(query_files, "read_workload", counting)
    file = tmp_path / "q.sql"

    def queries(text: str, after: int) -> tuple[str, int]:
        minutes[0] += after
        file.write_text(text)
        return reader.read(QueryFiles(("*.sql",), 1.0), TABLE).text, read[0]

    one, two = "SELECT * FROM t WHERE a = 1", "SELECT * FROM t WHERE a = 1 AND d > current_date"
    first, times = queries(one, 0)
    assert times == 1
    assert '"a = 1"' in first
    assert queries(two, 20) == (first, 1)
    assert queries(two, 11)[1] == 2, "another day"
    assert queries(one, 59)[1] == 2
    assert queries(one, 2)[1] == 3
    # What is relative to the day is the same all day long.
    today, times = queries(two, 120)
    assert queries(two, 120) == (today, times + 1)
    assert queries(two, 1440)[0] != today


def test_some_queries_stand_for_all(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told = ["SELECT * FROM db.t WHERE a = 7;"] * 3 + [f"SELECT * FROM db.t WHERE a = {-at};" for at in range(1, 1_100)]
    (tmp_path / "q.sql").write_text("\n".join(told))
    found = QueryFileReader(tmp_path, lambda: BEGAN).read(QueryFiles(("q.sql",), 2.0), TABLE)
    assert (found.queries, found.per_day) == (MOST_QUERIES, 551.0)
    weights = [query["weight"] for query in json.loads(found.text)["queries"]]
    assert '"a = 7", "weight": 3.0' in found.text
    assert (max(weights), sum(weights)) == (3.0, pytest.approx(1102))
    assert "Using 1,000 representative queries on db.t" in caplog.text
