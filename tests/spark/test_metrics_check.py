"""Option ``metrics-check``: lower/upper bounds that do not serve are told, refused, or mended.

Judged by the bounds in the manifests, over the values of all rows, and by the table's properties.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.spark import RewriteResult, rewrite_data_files
from tests.spark.events import logged
from tests.spark.tables import Table, create, unchanged, untouched
from tests.spark.test_plan import builder
from tests.stack.rest import RestServer, status

METRICS = "write.metadata.metrics.column."
FILES = 8
DISTINCT = 500
NUMBER = f"(id * 7919 % {DISTINCT})"
URL = f"concat('https://www.example.com/items/', lpad(cast({NUMBER} AS string), 4, '0'))"
EMOJI = f"concat(repeat('\U0001f600', 20), lpad(cast({NUMBER} AS string), 4, '0'))"


def table_of(spark: SparkSession, column: str, properties: Mapping[str, str] | None = None) -> Table:
    """A table whose column ``c`` has its values in every file; ``id`` is unlike anything."""
    select = f"SELECT id, {column} AS c, repeat('x', 30) AS payload FROM range(0, 8000, 1, {FILES})"
    return create(spark, select, properties=properties)


def rewrite(table: Table, check: str = "warn", by: Sequence[str] | str = ("c",), **options: str) -> RewriteResult:
    given = {"rewrite-all": "true", **table.target_for(FILES), "metrics-check": check, **options}
    return rewrite_data_files(table.spark, table.full_name, by, options=given)


def metadata(table: Table) -> list[str]:
    """The table's metadata files, of which every commit makes one."""
    return [row[0] for row in table.spark.sql(f"SELECT file FROM {table.full_name}.metadata_log_entries").collect()]


def modes(table: Table) -> dict[str, str]:
    """The metrics modes that are set, by column."""
    rows = table.spark.sql(f"SHOW TBLPROPERTIES {table.full_name}").collect()
    return {row[0].removeprefix(METRICS): row[1] for row in rows if row[0].startswith(METRICS)}


def values_of(table: Table, column: str) -> list[Any]:
    rows = table.spark.sql(f"SELECT {column} AS v FROM {table.full_name} WHERE {column} IS NOT NULL").collect()
    return sorted(bytes(row.v) if isinstance(row.v, bytearray) else row.v for row in rows)


def fraction(table: Table, column: str = "c") -> float:
    """The scan fraction of ``column = value`` over the values of all rows."""
    rows = table.spark.sql(
        f"SELECT readable_metrics.`{column}`.lower_bound AS low, readable_metrics.`{column}`.upper_bound AS high, "
        f"file_size_in_bytes AS size FROM {table.full_name}.files WHERE content = 0"
    ).collect()
    values = values_of(table, column)
    read: int = 0
    for low, high, size in rows:
        first = 0 if low is None else bisect_left(values, bytes(low) if isinstance(low, bytearray) else low)
        last = (
            len(values) if high is None else bisect_right(values, bytes(high) if isinstance(high, bytearray) else high)
        )
        read += size * max(0, last - first)
    total: int = sum(row.size for row in rows)
    return read / len(values) / total


def shortest(values: Sequence[Any], kept: int) -> int:
    """The shortest beginning, longer than what is kept, that tells 95% of neighbouring values apart."""
    neighbours = list(pairwise(sorted(set(values))))
    return next(
        length
        for length in range(kept + 1, 257)
        if 100 * sum(low[:length] != high[:length] for low, high in neighbours) >= 95 * len(neighbours)
    )


def alter(table: Table, mode: str, column: str = "c") -> str:
    return f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('{METRICS}{column}' = '{mode}')"


def not_kept(table: Table, mode: str, column: str = "c") -> str:
    return (
        f"{table.full_name} keeps no lower/upper bounds of clustering column {column} (metrics mode {mode}): no file "
        "can be skipped by it."
    )


def cut(table: Table, length: str, share: int, column: str = "c") -> str:
    return (
        f"The {length} that {table.full_name} keeps of lower/upper bounds of clustering column {column} tell {share}% "
        "of its sampled rows apart: files cannot be skipped by it as well as they could."
    )


def mended(table: Table, mode: str, column: str = "c") -> str:
    return f"{alter(table, mode, column)} and rewrite again with option rewrite-all, or set option metrics-check to fix beside it."


UNKNOWN = "no beginning of up to 256 characters is known to tell enough rows apart"
FUTILE = f"Files cannot be pruned by it, because {UNKNOWN}: choose another column"


def share_apart(values: Sequence[Any], length: int) -> int:
    neighbours = list(pairwise(sorted(set(values))))
    apart = sum(bool(low[:length] != high[:length]) for low, high in neighbours)
    return 100 * apart // len(neighbours)


def few(kinds: Iterable[str], *shown: str) -> list[Any]:
    """Leave all but some to the full tier."""
    return [pytest.param(kind, marks=() if kind in shown else pytest.mark.full) for kind in kinds]


NOT_KEPT = {
    "number": (NUMBER, "none", "full"),
    "decimal": (f"cast({NUMBER} AS decimal(30, 2))", "none", "full"),
    "short text": (f"lpad(cast({NUMBER} AS string), 4, '0')", "none", "truncate(16)"),
    "binary": (f"cast({URL} AS binary)", "counts", None),
}


@pytest.mark.parametrize("kind", few(NOT_KEPT, "number", "binary"))
def test_bounds_that_are_not_kept(spark: SparkSession, kind: str) -> None:
    column, mode, wanted = NOT_KEPT[kind]
    table = table_of(spark, column, {METRICS + "c": mode})
    if wanted is None:
        wanted = f"truncate({shortest(values_of(table, 'c'), 0)})"

    before = metadata(table)
    with (
        untouched(table),
        pytest.raises(InvalidInputError, match=r"^Cannot cluster by column c, because .* keeps no") as e,
    ):
        rewrite(table, "fail")
    assert f"(metrics mode {mode}), so no file could be skipped" in str(e.value)
    assert metadata(table) == before

    with unchanged(table):
        warned = rewrite(table)
    assert f"{not_kept(table, mode)} {mended(table, wanted)}" in (warned.message or "")
    [scan] = warned.scan_fractions
    assert (scan.before, scan.predicted, scan.actual) == (1, 1, 1)
    assert fraction(table) == 1
    assert modes(table) == {"c": mode}

    with unchanged(table):
        fixed = rewrite(table, "fix")
    assert f"Set {METRICS}c = '{wanted}' on {table.full_name}: {not_kept(table, mode)}" in (fixed.message or "")
    assert modes(table) == {"c": wanted}
    assert fraction(table) < 1.5 / FILES
    [scan] = fixed.scan_fractions
    assert scan.before == 1
    assert scan.actual == pytest.approx(fraction(table), rel=1e-9)
    assert scan.predicted == pytest.approx(fraction(table), rel=0.1)

    before = metadata(table)
    with unchanged(table):
        again = rewrite(table, "fix")
    assert "bounds" not in (again.message or "")
    assert len(metadata(table)) == len(before) + 1


CUT = {
    "url": (URL, None, 16, "characters"),
    "emoji": (EMOJI, None, 16, "characters"),
    "binary emoji": (f"cast({EMOJI} AS binary)", "truncate(20)", 20, "bytes"),
}


@pytest.mark.parametrize("kind", few(CUT, "url", "emoji"))
def test_bounds_that_are_cut_too_short(spark: SparkSession, kind: str) -> None:
    column, mode, length, unit = CUT[kind]
    table = table_of(spark, column, {METRICS + "c": mode} if mode else None)
    values = values_of(table, "c")
    share = share_apart(values, length)
    assert share < 95
    wanted = f"truncate({shortest(values, length)})"
    # What is cut in the sample is not known to differ, unless it is to be fixed.
    told = None if kind == "emoji" else wanted
    reason = cut(table, f"{length} {unit}", share)

    before = metadata(table)
    for dry_run in ("true", "false"):
        with untouched(table), pytest.raises(InvalidInputError) as refused:
            rewrite(table, "fail", **{"dry-run": dry_run})
        assert str(refused.value) == (
            f"Cannot cluster by column c, because the {length} {unit} that {table.full_name} keeps of its lower/upper "
            f"bounds tell {share}% of its sampled rows apart"
            f"{f': {alter(table, told)} first' if told else f', and {UNKNOWN}'}"
        )
    assert metadata(table) == before

    with unchanged(table):
        warned = rewrite(table)
    assert f"{reason} {mended(table, told) if told else FUTILE}" in (warned.message or "")
    poor = fraction(table)
    assert warned.scan_fractions[0].predicted == pytest.approx(poor, rel=0.1)
    assert modes(table) == ({"c": mode} if mode else {})

    with unchanged(table):
        fixed = rewrite(table, "fix")
    assert f"Set {METRICS}c = '{wanted}' on {table.full_name}: {reason}" in (fixed.message or "")
    assert modes(table) == {"c": wanted}
    attained = fraction(table)
    assert fixed.scan_fractions[0].predicted == pytest.approx(attained, rel=0.1)
    assert attained < poor

    spark.sql(alter(table, "full"))
    with unchanged(table):
        whole = rewrite(table, "fix")
    assert "bounds" not in (whole.message or "")
    assert attained == pytest.approx(fraction(table), rel=0.1)


RARE = "lpad(cast(id AS string), 5, '0')"
HIDDEN = {
    # Of 25 rows 24 have long values that begin alike, or a default; 39 of the 40 URLs are among the rows that count.
    "rare values": (
        f"IF(id % 25 = 0, {RARE}, concat('https://www.example.com/items/', id % 40 + 10))",
        4,
        "truncate(32)",
    ),
    "a default": (f"IF(id % 25 = 0, concat('https://www.example.com/items/', {RARE}), '')", 0, None),
    "one long beginning": (f"concat(repeat('x', 99), {RARE})", 0, ""),
    "two long beginnings": (f"concat(id % 2, repeat('x', 99), {RARE})", 0, ""),
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_what_could_hide_that_most_rows_begin_alike(spark: SparkSession, kind: str) -> None:
    column, share, wanted = HIDDEN[kind]
    table = table_of(spark, column)
    wanted = f"truncate({shortest(values_of(table, 'c'), 16)})" if wanted is None else wanted
    warned = rewrite(table)
    told = mended(table, wanted) if wanted else f"{FUTILE}, or set option metrics-check to fix"
    assert f"{cut(table, '16 characters', share)} {told}" in (warned.message or "")
    with pytest.raises(InvalidInputError, match=f"tell {share}% of its sampled rows apart"):
        rewrite(table, "fail")
    poor = fraction(table)
    spark.sql(alter(table, wanted or "truncate(105)"))
    rewrite(table)
    # Of so few files one has all that are not the default.
    assert fraction(table) < poor or kind == "a default"


def test_long_values_that_differ_early_are_told_apart(spark: SparkSession) -> None:
    """Each is in many rows: nobody has to know how they end."""
    table = table_of(spark, "concat(id % 3, repeat('x', 99))")
    assert "bounds" not in (rewrite(table, "fail", ("c", "id")).message or "")


def test_nothing_is_set_where_no_beginning_is_enough(spark: SparkSession) -> None:
    table = table_of(spark, f"concat(repeat('u', 300), cast({NUMBER} AS string))")
    reason = cut(table, "16 characters", 0)
    with unchanged(table):
        fixed = rewrite(table, "fix")
    assert f"{reason} {FUTILE}." in (fixed.message or "")
    assert "Set" not in (fixed.message or "")
    assert modes(table) == {}


def test_nothing_is_told_of_bounds_that_serve(spark: SparkSession) -> None:
    table = table_of(spark, f"concat(lpad(cast({NUMBER} AS string), 4, '0'), repeat('y', 40))")
    for check in ("warn", "fail", "fix"):
        before = metadata(table)
        with unchanged(table):
            result = rewrite(table, check, ("c", "id"))
        assert "bounds" not in (result.message or "")
        assert modes(table) == {}
        assert len(metadata(table)) == len(before) + 1


def test_nested_columns_those_beyond_the_inferred_ones_and_prefixes(spark: SparkSession) -> None:
    table = create(
        spark,
        f"SELECT id, id % 7 AS other, named_struct('a b', {NUMBER}) AS s, id * 104729 % 997 AS late, id % 3 AS p "
        f"FROM range(0, 8000, 1, {FILES})",
        properties={"write.metadata.metrics.max-inferred-column-defaults": "2"},
    )
    by = "p, zorder(s.`a b`, late)"
    names = {"p": "p", "s.`a b`": "s.a b", "late": "late"}
    with unchanged(table):
        warned = rewrite(table, by=by)
    for name, field in names.items():
        assert f"{not_kept(table, 'none', name)} {mended(table, 'full', field)}" in (warned.message or "")
    assert {scan.column: scan.predicted for scan in warned.scan_fractions} == dict.fromkeys(names, 1)

    before = metadata(table)
    with unchanged(table):
        fixed = rewrite(table, "fix", by)
    assert len(metadata(table)) == len(before) + 2, "one commit of all properties, and the rewrite's"
    assert modes(table) == dict.fromkeys(names.values(), "full")
    for name, field in names.items():
        assert f"Set {METRICS}{field} = 'full' on {table.full_name}: {not_kept(table, 'none', name)}" in (
            fixed.message or ""
        )
    assert fraction(table, "late") < 1
    assert fraction(table, "p") < 1


def test_a_dry_run_tells_what_it_would_set(spark: SparkSession) -> None:
    table = table_of(spark, URL)
    values = values_of(table, "c")
    before = metadata(table)
    intended = f"Would set {METRICS}c = 'truncate({shortest(values, 16)})' on {table.full_name}: "
    with untouched(table):
        dry = rewrite(table, "fix", **{"dry-run": "true"})
        warned = rewrite(table, "warn", **{"dry-run": "true"})
        plan = builder(
            table, "zorder(c)", {"rewrite-all": "true", **table.target_for(FILES), "metrics-check": "fix"}
        ).plan()
        assert list(plan.warnings()) == []
        sampled = plan.sampled()
    reason = cut(table, "16 characters", share_apart(values, 16))
    assert dry.message == f"Dry run: nothing was written. {intended}{reason}"
    assert (warned.message or "").endswith("or set option metrics-check to fix beside it.")
    assert list(sampled.warnings()) == [intended + reason]
    [mended_scan], [scan] = dry.scan_fractions, warned.scan_fractions
    assert (mended_scan.predicted or 1) < 0.5 < (scan.predicted or 0), "what its mode will be worth"
    assert sampled.scanFractions()["c"] == mended_scan.predicted
    assert metadata(table) == before


def test_a_sampled_plan_is_executed_later(spark: SparkSession) -> None:
    table = table_of(spark, URL)
    plan = builder(table, "zorder(c)", {"rewrite-all": "true", **table.target_for(FILES), "metrics-check": "fix"})
    sampled = plan.plan().sampled()
    spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('other' = 'mine')")
    spark.sql(f"INSERT INTO {table.full_name} SELECT 9999, 'https://www.example.com/items/9999', 'new'")
    with unchanged(table):
        message = sampled.execute().message().get()
    assert message.startswith(f"Set {METRICS}c = 'truncate(")
    assert list(modes(table)) == ["c"]
    assert spark.sql(f"SHOW TBLPROPERTIES {table.full_name} ('other')").collect()[0][1] == "mine"
    assert fraction(table) < 0.5


def test_a_mode_that_others_set_meanwhile_stands(spark: SparkSession) -> None:
    table = table_of(spark, URL)
    plan = builder(table, "zorder(c)", {"rewrite-all": "true", **table.target_for(FILES), "metrics-check": "fix"})
    sampled = plan.plan().sampled()
    spark.sql(alter(table, "full"))
    before = metadata(table)
    with unchanged(table):
        message = sampled.execute().message()
    assert "bounds" not in message.orElse("")
    assert modes(table) == {"c": "full"}
    assert len(metadata(table)) == len(before) + 1
    assert fraction(table) < 0.5


def test_a_sampled_plan_is_refused(spark: SparkSession) -> None:
    table = table_of(spark, URL)
    plan = builder(table, "zorder(c)", {"rewrite-all": "true", "metrics-check": "fail"}).plan()
    with (
        untouched(table),
        pytest.raises(IllegalArgumentException, match="^Cannot cluster by column c, because the 16 characters "),
    ):
        plan.sampled()


def test_nothing_is_set_where_nothing_is_rewritten(spark: SparkSession) -> None:
    """Sorted by its column already, so that a rewrite is not predicted to pay; the bounds are whole, the mode is not."""
    table = create(
        spark, f"SELECT id, concat(repeat('u', 30), lpad(cast(id AS string), 6, '0')) AS c FROM range(0, 8000, 1, {FILES})",
        properties={METRICS + "c": "full"},
    )  # fmt: skip
    spark.sql(alter(table, "truncate(16)"))
    before = metadata(table)
    options = {"rewrite-all": "false", "min-input-files": "2", **table.target_for(2)}
    with untouched(table):
        fixed = rewrite(table, "fix", **options)
        warned = rewrite(table, "warn", **options)
    assert fixed.nothing_to_do
    assert (fixed.message or "").endswith("set option rewrite-all to true.")
    assert warned.nothing_to_do
    assert (warned.message or "").endswith("or set option metrics-check to fix beside it.")
    assert metadata(table) == before


def test_partial_progress_sets_once(spark: SparkSession) -> None:
    table = create(
        spark,
        f"SELECT id, id % 3 AS p, {URL} AS c FROM range(0, 8000, 1, {FILES})",
        partitioned_by="p",
        properties={METRICS + "c": "none"},
    )
    options = {"partial-progress.enabled": "true", "partial-progress.max-commits": "3", **table.target_for(24)}
    before, rows = metadata(table), table.fingerprint()
    fixed = rewrite(table, "fix", **options)
    assert (fixed.message or "").startswith(f"Set {METRICS}c = 'truncate(")
    assert table.operations()[-3:] == ["replace"] * 3
    assert len(metadata(table)) == len(before) + 4
    assert table.fingerprint() == rows
    assert fraction(table) < 0.5


def test_the_table_remembers_it(spark: SparkSession) -> None:
    table = table_of(spark, NUMBER, {METRICS + "c": "none", "zorder.options": "metrics-check=FIX;rewrite-all=true"})
    with unchanged(table):
        rewrite_data_files(spark, table.full_name, ["c"])
    assert modes(table) == {"c": "full"}


class TestFailingCommits:
    """What the catalog answers to the commit of properties, through a REST server in front of that of the other tests."""

    @pytest.fixture
    def table(self, spark: SparkSession) -> Table:
        return table_of(spark, URL)

    def call(self, table: Table, server: RestServer) -> RewriteResult:
        options = {"rewrite-all": "true", **table.target_for(FILES), "metrics-check": "fix"}
        try:
            return rewrite_data_files(table.spark, f"rest_{server.server_port}.{table.name}", ["c"], options=options)
        finally:
            table.spark.sql(f"REFRESH TABLE {table.full_name}")

    def test_a_refused_commit_fails_before_anything_is_written(self, table: Table, server: RestServer) -> None:
        server.answer, server.commits = status(409), False
        with untouched(table), pytest.raises(RewriteFailedError, match="^Cannot set ") as failed:
            self.call(table, server)
        assert f"{METRICS}c" in str(failed.value)
        assert "Nothing else was done" in str(failed.value)
        assert modes(table) == {}

    @pytest.mark.parametrize("committed", [True, False])
    def test_an_unknown_outcome_is_one(self, table: Table, server: RestServer, committed: bool) -> None:
        server.answer, server.commits = status(500), committed
        with untouched(table), pytest.raises(UnknownOutcomeError, match="^Cannot tell whether ") as unknown:
            self.call(table, server)
        assert "Nothing else was done" in str(unknown.value)
        assert list(modes(table)) == ["c"] * committed

    def test_what_a_rewrite_that_fails_has_set_is_told(self, table: Table, server: RestServer, tmp_path: Path) -> None:
        answers = [None, status(403)]

        def next_commit() -> None:
            server.answer = answers.pop(0)
            server.commits = server.answer is None

        server.before_commit = next_commit
        log, before = tmp_path / "log", (table.fingerprint(), table.operations())
        with (
            logged(table.spark, log, "WARN"),
            pytest.raises(RewriteFailedError, match="^Forbidden: told to"),
        ):
            self.call(table, server)
        assert (table.fingerprint(), table.operations()) == before
        assert list(modes(table)) == ["c"]
        assert f"set before it ended stays: {METRICS}c = 'truncate(" in log.read_text()

    def test_a_property_that_others_set_meanwhile_survives(self, table: Table, server: RestServer) -> None:
        others = [
            lambda: table.spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('other' = 'mine')"),
        ]
        server.before_commit = lambda: others.pop()() if others else None
        with unchanged(table):
            result = self.call(table, server)
        assert (result.message or "").startswith(f"Set {METRICS}c = 'truncate(")
        assert list(modes(table)) == ["c"]
        assert table.spark.sql(f"SHOW TBLPROPERTIES {table.full_name} ('other')").collect()[0][1] == "mine"
