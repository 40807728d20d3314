"""What a rewrite has settled is left by the next one, by either engine, until something comes that it has not seen."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import RewritePlan, execute, plan_rewrite
from iceberg_zorder.pyiceberg import rewrite_data_files as rewrite_without_spark
from iceberg_zorder.rewrite.result import RewriteResult
from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.spark.rewrite import describe_plan, execute_plan
from tests.pyiceberg.lake import data_files
from tests.spark.tables import CATALOG

NAME = f"{CATALOG}.db.settled"
# One sample of rows whose bounds no layout meets: by the bounds alone every run would try again. Weights let columns pay for others.
TIGHT = {"target-file-size-bytes": "20000", "max-scan-ratio": "1", "column-weights": "a=1,b=1"}
# Files as small as these are worth a rewrite only where opening them is for nothing.
BY_BYTES = {"read.split.open-file-cost": "1"}
Rewrite = Callable[..., RewriteResult]


@pytest.fixture
def table(catalog: Catalog, spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Table]:
    version = getattr(request, "param", 2)
    schema = pa.schema([("p", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])
    table = catalog.create_table("db.settled", schema, properties={"format-version": str(version), **BY_BYTES})
    table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    for part in (0, 1):
        append(table, part, 6)
    yield table
    spark.sql(f"DROP TABLE {NAME}")


def append(table: Table, part: int, files: int = 1) -> None:
    draw = np.random.default_rng(part)
    for _ in range(files):
        a = draw.integers(0, 1 << 40, 2_000)
        # Columns that depend on each other, which no bounds tell.
        table.append(pa.table({"p": np.full(2_000, part), "a": a, "b": a + draw.integers(0, 1 << 30, 2_000)}))


def engines(spark: SparkSession, table: Table) -> tuple[Rewrite, Rewrite]:
    def by_spark(**given: object) -> RewriteResult:
        result = rewrite_data_files(spark, NAME, "a, b", **given)  # type: ignore[arg-type]
        table.refresh()
        return result

    def without(**given: object) -> RewriteResult:
        return rewrite_without_spark(table, "a, b", **given)  # type: ignore[arg-type]

    return by_spark, without


def rests(table: Table, rewrites: tuple[Rewrite, Rewrite]) -> None:
    for rewrite in rewrites:
        at = table.refresh().metadata_location
        result = rewrite(options=TIGHT)
        assert (result.rewritten_data_files_count, table.refresh().metadata_location) == (0, at), result.message


@pytest.mark.parametrize("first", [0, 1], ids=["spark", "pyiceberg"])
def test_either_engine_goes_on_with_what_either_has_not_finished(spark: SparkSession, table: Table, first: int) -> None:
    options = {**TIGHT, "max-file-group-size-bytes": "100000", "partial-progress.enabled": "true"}
    both = engines(spark, table)
    plan = plan_rewrite(table, "a, b", options=options).to_dict()
    done, *others = plan["file_groups"]
    assert len(others) > 1
    # A plan without its other groups leaves the same commits as a rewrite that is killed before these.
    text = json.dumps({**plan, "file_groups": [done]})
    if first:
        execute(table, RewritePlan.from_json(text))
    else:
        execute_plan(spark, NAME, text)
    written = {file.file_path for file in data_files(table.refresh())} - paths_of(plan["file_groups"])
    again = [
        plan_rewrite(table, "a, b", options=options).to_dict(),
        describe_plan(spark, NAME, "a, b", options=options),
    ]
    for found in again:
        assert paths_of(found["file_groups"]) == paths_of(others)
        (left,) = found["left"]
        assert (left["reasons"], left["data_files_count"]) == (
            [{"code": "already-written", "parameters": {}}],
            len(written),
        )
    assert again[0]["left"] == again[1]["left"]
    assert both[1 - first](options=options).rewritten_data_files_count == len(paths_of(others))
    assert written < {file.file_path for file in data_files(table.refresh())}
    rests(table, both)


def paths_of(groups: list[dict[str, Any]]) -> set[str]:
    return {file["path"] for group in groups for file in group["data_files"]}


@pytest.mark.parametrize("first", [0, 1], ids=["spark", "pyiceberg"])
@pytest.mark.parametrize("table", [pytest.param(1, marks=pytest.mark.full), 2], indirect=True, ids=["v1", "v2"])
def test_either_engine_rests_after_either(spark: SparkSession, table: Table, first: int) -> None:
    both = engines(spark, table)
    assert both[first](options=TIGHT).rewritten_data_files_count == 12
    rests(table, both)
    result = both[1 - first](options=TIGHT)
    assert result.message == both[first](options=TIGHT).message, "costs of two partitions, added up"
    assert re.fullmatch(
        rf"Nothing to rewrite in {NAME}: {len(table.inspect.files())} data files are skipped \(unchanged since a rewrite by"
        r" the same request; a filter costs \S+ \S+, \d\.\d\d times the attainable \S+ \S+\)\.",
        result.message or "",
    )

    append(table, 1, 3)
    for rewrite in both:
        assert rewrite(options={**TIGHT, "dry-run": "true"}).rewritten_data_files_count > 0
    before = {path for path in table.inspect.files()["file_path"].to_pylist() if "p=0" in path}
    assert both[1 - first](options=TIGHT).rewritten_data_files_count > 0
    assert before <= set(table.inspect.files()["file_path"].to_pylist()), "the other partition is settled"
    rests(table, both)

    # Another request is another matter.
    assert both[first](options={**TIGHT, "target-file-size-bytes": "5000"}).rewritten_data_files_count > 0
