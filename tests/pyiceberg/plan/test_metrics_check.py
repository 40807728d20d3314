"""The option ``metrics-check``: judged by the bounds in the manifests of the files that are written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, ForbiddenError
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg import execute, plan_rewrite, rewrite_data_files, sample
from iceberg_zorder.rewrite.result import RewriteResult
from tests.pyiceberg.committing import Interrupted, make_catalog
from tests.pyiceberg.lake import data_files, one_commit

OF = "write.metadata.metrics.column."
ROWS = 1_500
QUICK = {"commit.retry.num-retries": "1", "commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "2"}


@dataclass(frozen=True)
class Kind:
    """A column of distinct values in a table, and what is to become of it."""

    value: Callable[[int], Any]
    type: pa.DataType
    mode: str | None = None
    """Its metrics mode, if that is set."""
    wanted: str | None = None
    name: str = "v"
    properties: Mapping[str, str] = field(default_factory=dict)

    def table(self, catalog: SqlCatalog, name: str = "db.t", **properties: str) -> Table:
        """Make a table of five files, in no order."""
        own = {f"{OF}{self.name}": self.mode} if self.mode else {}
        inner = pa.field("v", self.type)
        last = pa.field("p", pa.struct([inner])) if self.name == "p.v" else inner
        schema = pa.schema([("b", pa.int64()), ("x", pa.int64()), last])
        table = catalog.create_table(name, schema, properties={**QUICK, **self.properties, **own, **properties})
        numbers = [number * 7919 % ROWS for number in range(ROWS)]
        with one_commit(table) as commit:
            for start in range(0, ROWS, 300):
                part = numbers[start : start + 300]
                values = pa.array([self.value(number) for number in part], self.type)
                columns = [pa.array([number * 31 % ROWS for number in part], pa.int64())] * 2
                column = pa.StructArray.from_arrays([values], fields=[inner]) if self.name == "p.v" else values
                commit.append(pa.table([*columns, column], schema=schema))
        return table

    def raw(self, number: int) -> Any:
        """A value as bounds of it compare, by their bytes."""
        value = self.value(number)
        if isinstance(value, int):
            return value.to_bytes(8, "big")
        return value.encode() if isinstance(value, str) else value


def letters(number: int) -> str:
    return "😀" * 20 + chr(0x1F600 + number // 64) + chr(0x1F600 + number % 64)


UNKEPT = {
    "numbers, none": Kind(int, pa.int64(), "none", "full"),
    "strings, counts": Kind("{:05d}".format, pa.string(), "counts", "truncate(16)"),
    "nested": Kind("{:05d}".format, pa.string(), "counts", "truncate(16)", "p.v"),
    "beyond the inferred": Kind(
        *(int, pa.int64(), None, "full"), properties={"write.metadata.metrics.max-inferred-column-defaults": "2"}
    ),
}
CUT = {
    "urls": Kind("https://www.example.com/items/{:05d}".format, pa.string(), None, "truncate(35)"),
    "urls, nested": Kind("https://www.example.com/items/{:05d}".format, pa.string(), None, "truncate(35)", "p.v"),
    "binaries, three bytes": Kind(lambda number: number.to_bytes(4, "big"), pa.binary(), "truncate(3)", "truncate(4)"),
    "emoji": Kind(letters, pa.string(), None, "truncate(22)"),
    "longer than 256": Kind(("x" * 254 + "{:05d}").format, pa.string()),
}
FINE = {
    "numbers": Kind(int, pa.int64()),
    "long enough": Kind("https://www.example.com/items/{:05d}".format, pa.string(), "truncate(35)"),
    "emoji": Kind(lambda number: letters(number)[10:], pa.string()),
    "all alike": Kind(lambda number: "x" * 67, pa.string()),
    "nothing": Kind(lambda number: None, pa.string()),
}


def rewrite(table: Table, kind: Kind, check: str | None = None, **options: Any) -> RewriteResult:
    return rewrite_data_files(table, f"{kind.name}, b", options=asked(check, **options))


def asked(check: str | None = None, **options: Any) -> dict[str, Any]:
    given = {} if check is None else {"metrics-check": check}
    return {"rewrite-all": True, "target-file-size-bytes": 2_500, **given, **options}


def share_read(table: Table, kind: Kind) -> float:
    """The share of bytes that a filter on each of the values reads, on average, as the manifests have it."""
    field_id = table.schema().find_field(kind.name).field_id
    files = data_files(table)
    sizes = sum(file.file_size_in_bytes for file in files)
    read = 0
    for raw in map(kind.raw, range(ROWS)):
        for file in files:
            low, high = ((ends or {}).get(field_id) for ends in (file.lower_bounds, file.upper_bounds))
            if kind.type == pa.int64():
                # Numbers are written with the least significant byte first.
                low, high = (end and end[::-1] for end in (low, high))
            if (low is None or low <= raw) and (high is None or raw <= high):
                read += file.file_size_in_bytes
    return read / (ROWS * sizes)


def snapshots(table: Table) -> int:
    return len(table.refresh().snapshots())


UNKNOWN = "no prefix of up to 256 characters is known to distinguish enough rows"


def reason(kind: Kind) -> str:
    unkept = (
        "lake.db.t keeps no lower/upper bounds of clustering column {} (metrics mode {}): filters on it skip no file."
    )
    if kind in UNKEPT.values():
        return unkept.format(kind.name, kind.mode or "none")
    length = (kind.mode or "truncate(16)")[9:-1]
    unit = "bytes" if kind.type == pa.binary() else "characters"
    return f"lake.db.t cuts lower/upper bounds of clustering column {kind.name} to {length} {unit}, which distinguish "


@pytest.mark.parametrize("name", ["strings, counts", "nested", "urls", "longer than 256"])
def test_warn_tells_and_rewrites(catalog: SqlCatalog, caplog: pytest.LogCaptureFixture, name: str) -> None:
    kind = {**UNKEPT, **CUT}[name]
    table = kind.table(catalog)
    properties = dict(table.properties)
    result = rewrite(table, kind)
    message = str(result.message)
    assert reason(kind) in message
    assert (
        f" No metrics mode would help, because {UNKNOWN}: choose another column, or set option metrics-check to "
        "fix, which samples longer prefixes."
        if not kind.wanted
        else f" ALTER TABLE lake.db.t SET TBLPROPERTIES ('{OF}{kind.name}' = '{kind.wanted}') and rewrite again with option "
        "rewrite-all, or set option metrics-check to fix beside it."
    ) in message
    assert any(record.levelno == logging.WARNING and reason(kind) in record.message for record in caplog.records)
    assert result.rewritten_data_files_count == 5
    assert table.refresh().properties == properties
    scan = result.scan_fractions[0]
    assert share_read(table, kind) > 0.9
    if kind in UNKEPT.values():
        assert (scan.before, scan.predicted, scan.actual, share_read(table, kind)) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("kind", FINE.values(), ids=FINE)
def test_bounds_that_serve_are_no_matter(catalog: SqlCatalog, kind: Kind) -> None:
    table = kind.table(catalog)
    properties = dict(table.properties)
    result = rewrite(table, kind, "FAIL")
    assert "bounds" not in str(result.message)
    assert result.rewritten_data_files_count == 5
    assert table.refresh().properties == properties


@pytest.mark.parametrize("kind", [UNKEPT["numbers, none"], UNKEPT["nested"]], ids=["none", "nested"])
def test_fail_refuses_what_is_not_kept_before_anything_is_read(catalog: SqlCatalog, kind: Kind) -> None:
    table = kind.table(catalog)
    location = table.metadata_location
    with pytest.raises(InvalidInputError) as refused:
        plan_rewrite(table, f"b, {kind.name}", options=asked("fail"))
    assert str(refused.value) == (
        f"Cannot cluster by column {kind.name}, because lake.db.t keeps no lower/upper bounds for it (metrics mode "
        f"{kind.mode or 'none'}), so no file could be skipped: ALTER TABLE ... SET TBLPROPERTIES ('{OF}{kind.name}' = "
        f"'{'full' if kind.type == pa.int64() else 'truncate(16)'}') first"
    )
    with pytest.raises(InvalidInputError):
        rewrite(table, kind, "fail")
    assert table.refresh().metadata_location == location


@pytest.mark.parametrize("kind", [CUT["urls"], CUT["longer than 256"]], ids=["urls", "longer"])
def test_fail_refuses_what_is_cut_too_short_before_anything_is_written(
    catalog: SqlCatalog, tmp_path: Path, kind: Kind
) -> None:
    table = kind.table(catalog)
    location, files = table.metadata_location, sorted(tmp_path.rglob("*"))
    for call in (
        lambda: rewrite(table, kind, "fail"),
        lambda: rewrite(table, kind, "fail", **{"dry-run": True}),
        lambda: rewrite(table, kind, "fail", **{"partial-progress.enabled": True}),
        lambda: sample(table, plan_rewrite(table, f"b, {kind.name}", options=asked("fail"))),
    ):
        with pytest.raises(InvalidInputError) as refused:
            call()
        found = str(refused.value)
        assert found.startswith(
            "Cannot cluster by column v, because lake.db.t cuts its lower/upper bounds to 16 characters, which distinguish "
        )
        assert found.endswith(
            f"% of the sampled rows, and {UNKNOWN}"
            if not kind.wanted
            else f"% of the sampled rows: ALTER TABLE lake.db.t SET TBLPROPERTIES ('{OF}{kind.name}' = '{kind.wanted}') first"
        )
    assert table.refresh().metadata_location == location
    assert sorted(tmp_path.rglob("*")) == files


@pytest.mark.parametrize(
    "name", ["numbers, none", "beyond the inferred", "urls, nested", "binaries, three bytes", "emoji"]
)
def test_fix_sets_what_is_enough_and_files_are_skipped(
    counting: Interrupted, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    kind = {**UNKEPT, **CUT}[name]
    caplog.set_level(logging.INFO)
    table = kind.table(counting)
    properties, before = dict(table.properties), snapshots(table)
    result = rewrite(table, kind, "fix")
    said = f"Set {OF}{kind.name} = '{kind.wanted}' on lake.db.t: {reason(kind)}"
    assert said in str(result.message)
    assert "ALTER TABLE" not in str(result.message)
    assert [record.levelno for record in caplog.records if said in record.message] == [logging.INFO]
    assert "Would set" not in caplog.text
    assert table.refresh().properties == {**properties, f"{OF}{kind.name}": kind.wanted}
    assert snapshots(table) == before + 1

    in_full = kind.table(counting, "db.in_full", **{f"{OF}{kind.name}": "full"})
    rewrite(in_full, kind)
    assert share_read(table, kind) <= share_read(in_full, kind) + 0.02 < 0.5
    scan = result.scan_fractions[0]
    assert scan.actual == pytest.approx(share_read(table, kind), abs=1e-9)
    assert scan.predicted == pytest.approx(scan.actual, abs=0.05)

    again = rewrite(table, kind, "fix")
    assert "Set " not in str(again.message)
    assert counting.commits.count(["set-properties"]) == 1
    assert snapshots(table) == before + 2


def test_a_plan_sets_it_when_it_is_executed(catalog: SqlCatalog) -> None:
    kind = CUT["urls"]
    table = kind.table(catalog)
    plan = sample(table, plan_rewrite(table, "v, b", options=asked("fix")))
    catalog.load_table("db.t").transaction().set_properties({"of": "others"}).commit_transaction()
    result = execute(table, plan)
    assert f"Set {OF}v = 'truncate(35)'" in str(result.message)
    assert "Would" not in str(result.message)
    assert table.properties["of"] == "others"
    assert table.properties[f"{OF}v"] == "truncate(35)"
    assert share_read(table, kind) < 0.5


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[Interrupted]:
    catalog = make_catalog(tmp_path, Interrupted)
    yield catalog
    catalog.close()


@pytest.mark.parametrize(
    ("error", "kind", "why"),
    [
        (ForbiddenError("not for you"), RewriteFailedError, "because not for you"),
        (CommitFailedException("always another"), RewriteConflictError, "because always another"),
    ],
)
def test_a_commit_that_fails_fails_the_rewrite(
    counting: Interrupted, tmp_path: Path, error: Exception, kind: type[Exception], why: str
) -> None:
    table = CUT["urls"].table(counting)
    location, files = table.metadata_location, sorted(tmp_path.rglob("*"))
    counting.fail(error)
    with pytest.raises(
        kind, match=rf"^Cannot set {OF}v = 'truncate\(35\)' on lake.db.t, {why}. Nothing else was done.$"
    ):
        rewrite(table, CUT["urls"], "fix")
    assert counting.load_table("db.t").metadata_location == location
    assert sorted(tmp_path.rglob("*")) == files


def test_what_a_rewrite_that_fails_has_set_is_told(counting: Interrupted, caplog: pytest.LogCaptureFixture) -> None:
    table = CUT["urls"].table(counting)
    # The commit of the properties is followed by the one of the rewrite.
    counting.then = [lambda: counting.fail(ForbiddenError("not for you"))]
    with pytest.raises(RewriteFailedError, match="because not for you. Nothing was committed"):
        rewrite(table, CUT["urls"], "fix")
    assert table.refresh().properties[f"{OF}v"] == "truncate(35)"
    assert f"The failed rewrite of lake.db.t has set properties: {OF}v = 'truncate(35)'" in caplog.text


def test_a_commit_whose_answer_is_lost_is_found(counting: Interrupted) -> None:
    table = CUT["urls"].table(counting)
    counting.fail(CommitStateUnknownException("504"), committed=True, times=1)
    assert rewrite(table, CUT["urls"], "fix").rewritten_data_files_count == 5
    assert counting.commits.count(["set-properties"]) == 1
    assert table.properties[f"{OF}v"] == "truncate(35)"


def test_an_outcome_that_is_not_known(counting: Interrupted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("iceberg_zorder.pyiceberg.catalog._PATIENCE", 1)
    table = CUT["urls"].table(counting)
    before = len(list(tmp_path.rglob("*.parquet")))
    counting.fail(ConnectionResetError("hung up"), down=True)
    with pytest.raises(
        UnknownOutcomeError, match=rf"^Cannot tell whether {OF}v = 'truncate\(35\)' was set on lake.db.t, "
    ):
        rewrite(table, CUT["urls"], "fix")
    assert len(list(tmp_path.rglob("*.parquet"))) == before
