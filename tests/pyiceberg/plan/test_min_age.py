"""Option ``min-age-seconds``: data files that came lately are left alone, whatever is written to them meanwhile."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg import execute, plan_rewrite, rewrite_data_files
from iceberg_zorder.pyiceberg.plan.planner import plan_again
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM, YOUNG_WAIT
from tests.pyiceberg.committing import (
    Interrupted,
    commit_files,
    files_of,
    ids,
    make_catalog,
    make_table,
    new_file,
    position_deletes,
    rows_of,
    summary_of,
)

HOUR = 3_600_000
ALL = {"rewrite-all": "true"}
YOUNG = {"min-age-seconds": "1800"}
WHY = "younger than min-age-seconds 1,800"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Interrupted]:
    catalog = make_catalog(tmp_path, Interrupted)
    yield catalog
    catalog.close()


def append(table: Table, *values: int, age_ms: int = 0, p: str = "a", **where: Any) -> str:
    """Append one file, as if so long ago; gives its path."""
    file = new_file(table.refresh(), rows_of(values, p), **where)
    commit_files(table, file, age_ms=age_ms)
    return file.file_path


def aged(catalog: SqlCatalog, *ages_ms: int, **arguments: Any) -> tuple[Table, list[str]]:
    """A table of a file of each age."""
    table = make_table(catalog, **arguments)
    return table, [append(table, 10 * place, 10 * place + 1, age_ms=age) for place, age in enumerate(ages_ms)]


def chosen(plan: RewritePlan) -> set[str]:
    return {task.data_file.file_path for group in plan.groups for task in group.tasks}


def left(plan: RewritePlan) -> dict[str, str]:
    return {task.data_file.file_path: files.reason for files in plan.left for task in files.tasks}


@pytest.mark.parametrize("version", [1, 2])
def test_young_files_are_left(lake: Interrupted, version: int) -> None:
    table, (old, older, young) = aged(lake, 2 * HOUR, HOUR, 0, version=version)
    plan = plan_rewrite(table, "id", options={**ALL, **YOUNG})
    assert chosen(plan) == {old, older}
    assert left(plan) == {young: WHY}
    assert chosen(plan_rewrite(table, "id", options={**ALL, "min-age-seconds": "5400"})) == {old}
    assert chosen(plan_rewrite(table, "id", options=ALL)) == {old, older, young}
    assert chosen(plan_rewrite(table, "id", options={**ALL, "min-age-seconds": "0"})) == {old, older, young}
    assert execute(table, plan).rewritten_data_files_count == 2
    assert summary_of(table.refresh())[SETTLED_FROM] == YOUNG_WAIT
    assert ids(table) == [0, 1, 10, 11, 20, 21]
    assert young in {file.file_path for file in files_of(table)}


def test_young_files_count_for_no_rule(lake: Interrupted) -> None:
    table, _ = aged(lake, *[HOUR] * 3, *[0] * 3)
    by_size = {**YOUNG, "max-scan-ratio": "Infinity"}
    plan = plan_rewrite(table, "id", options=by_size)
    assert plan.message is not None
    assert "3 data files are skipped (below min-file-size-bytes " in plan.message
    assert f"3 data files are skipped ({WHY})." in plan.message
    assert chosen(plan_rewrite(table, "id", options={**by_size, "min-input-files": "3"})) == set(left(plan)) - {
        path for path, why in left(plan).items() if why == WHY
    }
    by_gain = plan_rewrite(table, "id", options={**YOUNG, "max-scan-ratio": "1"})
    assert sorted(left(by_gain).values()).count(WHY) == 3
    at_most = plan_rewrite(table, "id", options={**ALL, **YOUNG, "max-files-to-rewrite": "2"})
    assert sorted(left(at_most).values()) == ["max-files-to-rewrite is 2", *[WHY] * 3]


def test_a_table_of_young_files_is_left(lake: Interrupted) -> None:
    table, _ = aged(lake, 0, 0)
    for options in (YOUNG, {**YOUNG, **ALL}):
        assert rewrite_data_files(table, "id", options=options).message == (
            "Nothing to rewrite in lake.db.t: 2 data files are skipped (younger than min-age-seconds 1,800)."
        )
    nothing = plan_rewrite(table, "id", where="id = 77", options=YOUNG)
    assert nothing.message == "Nothing to rewrite in lake.db.t: no data file can hold rows that match the filter."


def test_a_rewrite_makes_files_no_younger(lake: Interrupted) -> None:
    table, _ = aged(lake, 2 * HOUR, 2 * HOUR, HOUR)
    assert rewrite_data_files(table, "id", options={**ALL, **YOUNG}).added_data_files_count == 1
    assert len(chosen(plan_rewrite(table, "id", options={**ALL, **YOUNG}))) == 1
    # By then it is as old as the snapshot that was rewritten.
    assert not chosen(plan_rewrite(table, "id", options={**ALL, "min-age-seconds": "5400"}))
    anew = {**ALL, **YOUNG, "use-starting-sequence-number": "false"}
    assert rewrite_data_files(table, "id", options=anew).added_data_files_count == 1
    assert not chosen(plan_rewrite(table, "id", options={**ALL, **YOUNG}))


@pytest.mark.parametrize("options", [{}, YOUNG])
def test_deletes_from_young_files_are_no_conflict(
    lake: Interrupted, tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, str]
) -> None:
    table, (_, _, young) = aged(lake, HOUR, HOUR, 0)
    other_catalog = make_catalog(tmp_path, SqlCatalog)

    def delete() -> None:
        other = other_catalog.load_table("db.t")
        commit_files(other, position_deletes(other, [(young, 0)]))

    plan = plan_rewrite(table, "id", options={**ALL, **options})
    lake.first = [delete]
    assert execute(table, plan).rewritten_data_files_count == (2 if options else 3)
    assert ids(table) == [0, 1, 10, 11, 21]
    assert ("planned and rewritten again" in caplog.text) is not bool(options)
    other_catalog.close()


def test_young_files_stay_left_when_others_are_planned_again(lake: Interrupted) -> None:
    table, (old, young) = aged(lake, HOUR, 0)
    plan = plan_rewrite(table, "id", options={**ALL, **YOUNG})
    append(table, 30, age_ms=HOUR)
    _, again = plan_again(table, plan, plan.groups)
    assert (chosen(again), left(again)) == ({old}, {young: WHY})
