"""The whole rewrite, from its arguments to its commit."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ForbiddenError
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, RewriteFailedError
from iceberg_zorder.pyiceberg import RewritePlan, execute, group_rewrite, plan_rewrite, rewrite_data_files, sample
from iceberg_zorder.pyiceberg.group_rewrite import rewrite_group
from tests.present import present
from tests.pyiceberg.committing import commit_files, on_disk, operations, position_deletes, summary_of
from tests.pyiceberg.lake import data_files, equality_delete, local, table_of

ALL = {"rewrite-all": True}
FILES, ROWS = 6, 600


def make(catalog: SqlCatalog, *, partitioned: bool = False, version: int = 2) -> Table:
    schema = pa.schema([("id", pa.int64()), ("p", pa.int32()), ("a", pa.int64()), ("text", pa.string())])
    numbers = range(ROWS)
    columns = [numbers, [n % 3 for n in numbers], [n * 7919 % 1000 for n in numbers], [f"row {n}" for n in numbers]]
    rows = pa.table([pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)], schema)
    properties = {"format-version": str(version), "commit.retry.min-wait-ms": "1"}
    return table_of(catalog, rows, FILES, by="p" if partitioned else "", properties=properties)


def rows(table: Table) -> list[dict[str, Any]]:
    return sorted(table.refresh().scan().to_arrow().to_pylist(), key=lambda row: row["id"])


def forbidden(*_: object) -> Any:
    raise ForbiddenError("not now")


def rows_of(table: Table, where: str) -> list[dict[str, Any]]:
    return sorted(table.refresh().scan(where).to_arrow().to_pylist(), key=lambda row: row["id"])


def known(table: Table) -> set[str]:
    return {path.removeprefix("file://") for path in table.inspect.all_files()["file_path"].to_pylist()}


@pytest.mark.parametrize("version", [1, 2])
def test_one_replace_snapshot_says_what_was_done(catalog: SqlCatalog, version: int) -> None:
    table = make(catalog, version=version)
    before = rows(table)
    result = rewrite_data_files(table, ["a", "id"], options=ALL)
    assert (result.rewritten_data_files_count, result.added_data_files_count) == (FILES, 1)
    assert result.rewritten_bytes_count > 0
    assert rows(table) == before
    summary = summary_of(table)
    assert summary["operation"] == "replace"
    assert summary["zorder.columns"] == "a,id"
    assert len(summary["zorder.layout-hash"] or "") == 64
    assert on_disk(table) == known(table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": ["nope"]}, "Cannot cluster by column 'nope', because lake.db.t has no such column"),
        ({"columns": ["idd"]}, r"because lake.db.t has no such column \(did you mean 'id'\?\)$"),
        ({"columns": []}, "because columns is empty"),
        ({"options": {"max-output-size": "8"}}, "Cannot use options \\[max-output-size\\]"),
        ({"options": {"memory-limit-bytes": "1"}}, "Cannot set memory-limit-bytes to '1'"),
    ],
)
def test_refusals(catalog: SqlCatalog, arguments: dict[str, Any], message: str) -> None:
    table = make(catalog)
    files = on_disk(table)
    with pytest.raises(InvalidInputError, match=message):
        rewrite_data_files(table, **{"columns": ["a"], **arguments})
    assert on_disk(table) == files
    assert operations(table) == ["append"]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("write.format.default", "ORC", "is 'ORC' and this engine writes Parquet: use the Spark engine"),
        ("write.location-provider.impl", "com.acme.Locations", "names a class of Java: use the Spark engine, or set"),
    ],
)
def test_properties_that_ask_for_other_files(catalog: SqlCatalog, name: str, value: str, why: str) -> None:
    table = make(catalog)
    files = on_disk(table)
    table.transaction().set_properties({name: value}).commit_transaction()
    with pytest.raises(
        InvalidInputError, match=rf"^Cannot rewrite data files of lake\.db\.t, because its property {name} {why}"
    ):
        rewrite_data_files(table, ["a"], options=ALL)
    assert on_disk(table) == files


class TestConflicts:
    """Another writer commits while the first file group is rewritten."""

    ONE_BY_ONE: ClassVar = {"max-concurrent-file-group-rewrites": 1}

    @pytest.fixture
    def meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
        """What happens after each file group, one after the other."""
        events: list[Callable[[], None]] = []

        def eventful(*arguments: Any, **named: Any) -> Any:
            files = rewrite_group(*arguments, **named)
            if events:
                events.pop(0)()
            return files

        monkeypatch.setattr(group_rewrite, "rewrite_group", eventful)
        return events

    def test_a_delete_has_the_group_rewritten_again(
        self, catalog: SqlCatalog, meanwhile: list[Callable[[], None]], caplog: pytest.LogCaptureFixture
    ) -> None:
        table, other = make(catalog), catalog.load_table("db.t")
        meanwhile.append(lambda: other.delete("id = 7"))
        with caplog.at_level(logging.WARNING, "iceberg_zorder"):
            result = rewrite_data_files(table, ["a"], options=ALL)
        assert "planned and rewritten again" in caplog.text
        assert [row["id"] for row in rows(table)] == [n for n in range(ROWS) if n != 7]
        # The deleting writer's copy of a file is left to the next rewrite.
        assert result.rewritten_data_files_count == FILES - 1
        assert operations(table)[-1] == "replace"
        assert on_disk(table) == known(table)

    def test_the_message_is_about_the_attempt_that_counts(
        self, catalog: SqlCatalog, meanwhile: list[Callable[[], None]]
    ) -> None:
        table, other = make(catalog), catalog.load_table("db.t")
        deleted = [
            (file.file_path, at)
            for place, file in enumerate(data_files(table))
            for at in range(100)
            if (100 * place + at) % 3
        ]

        def delete() -> None:
            commit_files(other, position_deletes(other, deleted))

        meanwhile.append(delete)
        message = str(rewrite_data_files(table, ["a", "p"], options=ALL).message)
        assert "Ignored clustering column p of lake.db.t: it has only one value" in message

    def test_only_the_partition_concerned_is_rewritten_again(
        self, catalog: SqlCatalog, meanwhile: list[Callable[[], None]]
    ) -> None:
        table, other = make(catalog, partitioned=True), catalog.load_table("db.t")
        meanwhile.append(lambda: other.delete("id = 7"))
        options = {**ALL, **self.ONE_BY_ONE, "partial-progress.enabled": True, "partial-progress.max-commits": 3}
        result = rewrite_data_files(table, ["a"], options=options)
        assert [row["id"] for row in rows(table)] == [n for n in range(ROWS) if n != 7]
        assert (result.rewritten_data_files_count, result.added_data_files_count) == (3 * FILES - 1, 3)
        assert operations(table).count("replace") == 3
        assert on_disk(table) == known(table)

    def test_in_the_end_it_gives_up(self, catalog: SqlCatalog, meanwhile: list[Callable[[], None]]) -> None:
        table, other = make(catalog), catalog.load_table("db.t")
        meanwhile += [lambda n=n: other.refresh().delete(f"id = {n}") for n in (7, 107, 207, 307)]  # type: ignore[misc]
        with pytest.raises(RewriteConflictError, match="conflicted with another operation on the same files"):
            rewrite_data_files(table, ["a"], options=ALL)
        assert len(meanwhile) == 1
        assert "replace" not in operations(table)
        assert [row["id"] for row in rows(table)] == [n for n in range(ROWS) if n not in (7, 107, 207)]
        assert on_disk(table) == known(table)

    @pytest.mark.parametrize("copies", [False, True], ids=["merge-on-read", "copy-on-write"])
    @pytest.mark.parametrize("how", ["taken out", "sampled", "JSON", "max-files-to-rewrite", "partial progress"])
    def test_a_retry_stays_within_its_plan(
        self, catalog: SqlCatalog, meanwhile: list[Callable[[], None]], how: str, copies: bool
    ) -> None:
        """Six files in two groups, of which the plan has one: of its three files, another writer deletes a row."""
        table, other = make(catalog), catalog.load_table("db.t")
        options: dict[str, Any] = {**ALL, "max-file-group-input-files": 3}
        if how == "max-files-to-rewrite":
            options["max-files-to-rewrite"] = 3
        elif how == "partial progress":
            options |= {"partial-progress.enabled": True, "partial-progress.max-commits": 3}
        plan = plan_rewrite(table, ["a"], options=options)
        if how == "sampled":
            plan = sample(table, plan)
        if how != "max-files-to-rewrite":
            assert [group.data_files_count for group in plan.groups] == [3, 3]
            plan = plan.with_groups({1})
        if how == "JSON":
            plan = RewritePlan.from_json(plan.to_json())
        (group,) = plan.to_dict()["file_groups"]
        planned = [each["path"] for each in group["data_files"]]
        lost = pq.read_table(planned[0].removeprefix("file://"))["id"][0].as_py()
        others = {file.file_path for file in data_files(table)} - {*planned}
        assert (len(planned), len(others)) == (3, 3)

        def delete() -> None:
            if copies:
                other.delete(f"id = {lost}")
            else:
                commit_files(other, position_deletes(other, [(planned[0], 0)]))

        meanwhile.append(delete)
        result = execute(table, plan)
        assert meanwhile == []
        # The other writer's copy of a file is no file of the plan.
        assert result.rewritten_data_files_count == (2 if copies else 3)
        after = {file.file_path for file in data_files(table.refresh())}
        assert others < after
        assert not after & {*planned}
        assert [row["id"] for row in rows(table)] == [n for n in range(ROWS) if n != lost]
        assert on_disk(table) == known(table)
        # Figures are of the whole table, also after a retry.
        assert present(result.before).files == (FILES - 1 if copies else FILES)

    @pytest.mark.parametrize("tolerated", [1, 0])
    def test_partial_progress_tolerates_failed_commits(
        self, catalog: SqlCatalog, meanwhile: list[Callable[[], None]], tolerated: int
    ) -> None:
        table, other = make(catalog, partitioned=True), catalog.load_table("db.t")

        def delete(number: int) -> Callable[[], None]:
            return lambda: other.refresh().delete(f"id = {number}")

        meanwhile += [delete(3), lambda: None, lambda: None, delete(102), delete(201)]
        options = {**ALL, **self.ONE_BY_ONE, "partial-progress.enabled": True, "partial-progress.max-commits": 3}
        options["partial-progress.max-failed-commits"] = tolerated
        if tolerated:
            result = rewrite_data_files(table, ["a"], options=options)
            assert (result.rewritten_data_files_count, result.added_data_files_count) == (2 * FILES, 2)
        else:
            with pytest.raises(RewriteConflictError, match="1 rewrite commits failed. This is more than the maximum"):
                rewrite_data_files(table, ["a"], options=options)
        assert meanwhile == []
        assert operations(table).count("replace") == 2
        assert [row["id"] for row in rows(table)] == [n for n in range(ROWS) if n not in (3, 102, 201)]
        assert on_disk(table) == known(table)


class TestFailures:
    def broken(self, catalog: SqlCatalog) -> tuple[Table, str]:
        """A table of three partitions, of which one cannot be read."""
        table = make(catalog, partitioned=True)
        paths = [path.removeprefix("file://") for path in table.inspect.files()["file_path"].to_pylist()]
        broken = next(path for path in paths if "p=1" in path)
        content = bytearray(Path(broken).read_bytes())
        chunk = pq.read_metadata(broken).row_group(0).column(0)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        content[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
        Path(broken).write_bytes(content)
        return table, broken

    def test_partial_progress_counts_the_failed(self, catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
        table = make(catalog, partitioned=True)
        before = rows(table)

        def failing(context: Any, group: Any, layout: Any) -> Any:
            if group.partition[0] == 1:
                raise OSError("disk on fire")
            return rewrite_group(context, group, layout)

        monkeypatch.setattr(group_rewrite, "rewrite_group", failing)
        result = rewrite_data_files(table, ["a"], options={**ALL, "partial-progress.enabled": True})
        assert (result.failed_data_files_count, result.rewritten_data_files_count) == (FILES, 2 * FILES)
        assert rows(table) == before
        with pytest.raises(RuntimeError, match="because a file group failed: disk on fire. Nothing was committed"):
            rewrite_data_files(table, ["a"], options=ALL)
        assert rows(table) == before
        assert on_disk(table) == known(table)

    def test_partial_progress_survives_a_file_that_cannot_be_read(
        self, catalog: SqlCatalog, caplog: pytest.LogCaptureFixture
    ) -> None:
        table, broken = self.broken(catalog)
        files = on_disk(table)
        with caplog.at_level(logging.ERROR, "iceberg_zorder"):
            result = rewrite_data_files(table, ["a", "id"], options={**ALL, "partial-progress.enabled": True})
        assert (result.failed_data_files_count, result.rewritten_data_files_count) == (FILES, 2 * FILES)
        assert result.added_data_files_count == 2
        assert "because sampling failed" in caplog.text
        assert broken in caplog.text
        assert operations(table).count("replace") == 2
        assert [row["id"] for row in rows_of(table, "p != 1")] == [n for n in range(ROWS) if n % 3 != 1]
        assert on_disk(table) - files == {path for path in known(table) if path.endswith("-zorder.parquet")}

    def test_a_delete_file_that_cannot_be_read_is_named(self, catalog: SqlCatalog) -> None:
        table = make(catalog)
        delete = equality_delete(table, [{"id": 3}], ["id"])
        commit_files(table, delete)
        Path(local(delete)).write_bytes(b"PAR1 broken PAR1")
        files = on_disk(table)
        why = rf"because sampling failed: Cannot read {delete.file_path}, because .* Nothing was committed\.$"
        with pytest.raises(RewriteFailedError, match=f"^Cannot complete the rewrite of lake.db.t, {why}"):
            rewrite_data_files(table, ["a"], options=ALL)
        assert on_disk(table) == files
        assert "replace" not in operations(table)

    def test_commits_that_fail_are_counted(self, catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
        table = make(catalog, partitioned=True)
        before, commit_table, commits = rows(table), catalog.commit_table, iter(range(10))

        def refusing(*arguments: Any) -> Any:
            if next(commits) == 1:
                raise ForbiddenError("not now")
            return commit_table(*arguments)

        monkeypatch.setattr(catalog, "commit_table", refusing)
        options = {**ALL, "partial-progress.enabled": True, "partial-progress.max-commits": 3}
        result = rewrite_data_files(table, ["a"], options=options)
        assert (result.failed_data_files_count, result.rewritten_data_files_count) == (FILES, 2 * FILES)
        assert rows(table) == before
        assert on_disk(table) == known(table)
        monkeypatch.setattr(catalog, "commit_table", forbidden)
        with pytest.raises(
            RewriteFailedError, match=r"because not now\. Nothing was committed, and the new files were"
        ):
            rewrite_data_files(table, ["a"], options={**ALL, "max-files-to-rewrite": 1})
        assert on_disk(table) == known(table)

    def test_what_changes_meanwhile_is_no_refusal(self, catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
        table, other = make(catalog), catalog.load_table("db.t")

        def eventful(*arguments: Any, **named: Any) -> Any:
            files = rewrite_group(*arguments, **named)
            other.delete("id = 7")
            other.update_schema().delete_column("a").commit()
            return files

        monkeypatch.setattr(group_rewrite, "rewrite_group", eventful)
        with pytest.raises(
            RewriteConflictError,
            match=r"cannot be planned again: Cannot cluster by column 'a'.*no such column.*Nothing was committed, and",
        ):
            rewrite_data_files(table, ["a"], options=ALL)
        assert on_disk(table) == known(table)

    @pytest.mark.parametrize(
        "properties",
        [
            {"write.parquet.compression-codec": "nope"},
            {"write.parquet.compression-codec": "gzip", "write.parquet.compression-level": "99"},
            {"write.parquet.page-row-limit": "-1"},
            {"write.parquet.row-group-size-bytes": "many"},
            {"write.parquet.row-group-limit": "0"},
            {
                "write.parquet.bloom-filter-enabled.column.id": "true",
                "write.parquet.bloom-filter-fpp.column.id": "1.5",
            },
            {"write.target-file-size-bytes": "large"},
            {"write.avro.compression-codec": "lz4"},
            {"write.summary.partition-limit": "few"},
            {"commit.retry.num-retries": "some"},
            {"write.py-location-provider.impl": "no.such.Provider"},
            {"write.object-storage.enabled": "maybe"},
        ],
        ids=lambda properties: "".join(properties),
    )
    def test_properties_are_checked_before_anything_is_read(
        self, catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch, properties: dict[str, str]
    ) -> None:
        table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
        table.append(pa.table({"id": [1, 2]}))
        table.metadata = table.metadata.model_copy(update={"properties": {**table.properties, **properties}})
        monkeypatch.setattr(catalog, "load_table", lambda _: table)
        files = on_disk(table)
        stages: list[str] = []
        with pytest.raises(InvalidInputError, match=r"^Cannot .*because"):
            rewrite_data_files(table, ["id"], options=ALL, progress=lambda stage, *_: stages.append(stage))
        assert stages == []
        assert on_disk(table) == files
