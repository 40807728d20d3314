"""Option ``metrics-check``: lower/upper bounds that do not serve are told, refused, or mended."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.errors import RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.spark import RewriteResult, rewrite_data_files
from tests.spark.events import logged
from tests.spark.tables import Table, create, unchanged, untouched
from tests.stack.rest import RestServer, status

METRICS = "write.metadata.metrics.column."
FILES = 8
URL = "concat('https://www.example.com/items/', lpad(cast(id * 7919 % 500 AS string), 4, '0'))"


def table_of(spark: SparkSession) -> Table:
    """A table whose column ``c`` has its values in every file; ``id`` is unlike anything."""
    return create(spark, f"SELECT id, {URL} AS c, repeat('x', 30) AS payload FROM range(0, 8000, 1, {FILES})")


def rewrite(table: Table, check: str = "warn", by: Sequence[str] | str = ("c",), **options: str) -> RewriteResult:
    given = {"rewrite-all": "true", **table.target_for(FILES), "metrics-check": check, **options}
    return rewrite_data_files(table.spark, table.full_name, by, options=given)


def metadata(table: Table) -> list[str]:
    """The table's metadata files, of which every commit makes one."""
    before = [each["metadata-file"] for each in table.metadata()["metadata-log"]]
    return [*before, table.metadata_location()]


def modes(table: Table) -> dict[str, str]:
    """The metrics modes that are set, by column."""
    properties = table.metadata()["properties"]
    return {key.removeprefix(METRICS): value for key, value in properties.items() if key.startswith(METRICS)}


def alter(table: Table, mode: str) -> str:
    return f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('{METRICS}c' = '{mode}')"


def test_a_mode_that_others_set_meanwhile_stands(spark: SparkSession) -> None:
    table = table_of(spark)
    plan = table.plan("zorder(c)", {"rewrite-all": "true", **table.target_for(FILES), "metrics-check": "fix"})
    sampled = plan.sampled()
    spark.sql(alter(table, "full"))
    before = metadata(table)
    with unchanged(table):
        message = sampled.execute().message()
    assert "bounds" not in message.orElse("")
    assert modes(table) == {"c": "full"}
    assert len(metadata(table)) == len(before) + 1


def test_nothing_is_set_where_nothing_is_rewritten(spark: SparkSession) -> None:
    """Sorted by its column already, so that a rewrite is not predicted to pay; the bounds are whole, the mode is not."""
    table = create(
        spark, f"SELECT id, concat(repeat('u', 30), lpad(cast(id AS string), 6, '0')) AS c FROM range(0, 8000, 1, {FILES})",
        properties={METRICS + "c": "full", "read.split.open-file-cost": "1"},
    )  # fmt: skip
    spark.sql(alter(table, "truncate(16)"))
    before = metadata(table)
    options = {"rewrite-all": "false", "min-input-files": "2", **table.target_for(2)}
    with untouched(table):
        fixed = rewrite(table, "fix", **options)
        warned = rewrite(table, "warn", **options)
    assert fixed.nothing_to_do
    assert warned.nothing_to_do
    assert metadata(table) == before


class TestFailingCommits:
    """What the catalog answers to the commit of properties, through a REST server in front of that of the other tests."""

    @pytest.fixture
    def table(self, spark: SparkSession) -> Table:
        return table_of(spark)

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
        assert f"has set properties: {METRICS}c = 'truncate(" in log.read_text()
