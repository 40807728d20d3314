"""Corners in which a rewrite once gave wrong answers: each is read with a filter, or by PyIceberg's scan, afterwards."""

import math
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DATA_FILE_TYPE, DataFile, ManifestContent
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record

from iceberg_zorder.pyiceberg import execute, plan_rewrite, report, rewrite_data_files, sample
from iceberg_zorder.pyiceberg.files import Progress, identity
from iceberg_zorder.pyiceberg.write.file_writer import FileSettings, FileWriter
from tests.pyiceberg.committing import commit_files, entries_of, head_of, new_file
from tests.pyiceberg.lake import data_file, data_files, equality_delete, local, position_delete

ALL = {"rewrite-all": True}
NAN = math.nan


def table_of(catalog: SqlCatalog, schema: pa.Schema, *, partition: str | None = None, **properties: str) -> Table:
    table = catalog.create_table("db.t", schema, properties={"commit.retry.min-wait-ms": "1", **properties})
    if partition:
        table.update_spec().add_field(partition, IdentityTransform(), f"{partition}_part").commit()
    return table


def values(table: Table, column: str, where: str = "true") -> list[Any]:
    found = table.refresh().scan(row_filter=where).to_arrow()[column].to_pylist()
    return sorted(found, key=repr)


def live(table: Table) -> list[dict[str, Any]]:
    """The rows of the data files, whether there are delete files or not."""
    return [row for file in data_files(table.refresh()) for row in pq.read_table(local(file)).to_pylist()]


def deletes_of(table: Table) -> list[str]:
    manifests = [
        each for each in head_of(table.refresh()).manifests(table.io) if each.content == ManifestContent.DELETES
    ]
    return [entry.data_file.file_path for each in manifests for entry in each.fetch_manifest_entry(table.io)]


def of_one_row_group(table: Table, arrays: list[pa.Array]) -> DataFile:
    """A file of one row group of several batches."""
    settings = FileSettings(0, Record(), "x", roll_at=1 << 30, row_group_rows=100, row_width=10, row_size=10)
    writer = FileWriter(table, table.schema(), settings)
    writer.write([pa.RecordBatch.from_arrays([array], ["s"]) for array in arrays])
    writer.close()
    (file,) = writer.files
    return file


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
@pytest.mark.parametrize(
    "groups", [[["zzz"], ["a" * 5000]], [["m"], ["zz" * 3000], ["b", None]], [[None], ["a" * 5000]]]
)
@pytest.mark.parametrize("in_dictionaries", [False, True])
def test_bounds_enclose_short_values_beside_long_ones(
    catalog: SqlCatalog, kind: pa.DataType, groups: list[list[str | None]], in_dictionaries: bool
) -> None:
    """One row group of several batches, of which one has a value that Parquet keeps no statistics of."""
    table = table_of(catalog, pa.schema([("s", kind)]))
    large = pa.large_string() if kind == pa.string() else pa.large_binary()
    arrays = [pa.array(group, large) for group in groups]
    if in_dictionaries and kind == pa.string():
        arrays = [array.dictionary_encode() for array in arrays]
    file = of_one_row_group(table, arrays)
    texts = [text for group in groups for text in group if text is not None]
    field = table.schema().find_field("s").field_id
    assert file.lower_bounds[field] == min(texts).encode()[:16]
    assert file.upper_bounds[field] >= max(text.encode() for text in texts)
    commit_files(table, file)
    if kind == pa.string():
        for text in texts:
            assert values(table, "s", f"s = '{text}'") == [text]


def zeros(catalog: SqlCatalog, version: str = "2") -> Table:
    """Two files in each of the partitions 0.0, -0.0, NaN and NULL."""
    schema = pa.schema([("id", pa.int64()), ("d", pa.float64())])
    table = table_of(catalog, schema, partition="d", **{"format-version": version})
    spec, files = table.spec().spec_id, []
    for start in (0, 100):
        for number, value in enumerate((0.0, -0.0, NAN, None)):
            rows = [{"id": start + 10 * number + each, "d": value} for each in range(3)]
            files.append(data_file(table, rows, Record(value), spec))
    commit_files(table, *files, one_manifest=True)
    return table


def partitions(table: Table) -> dict[Any, list[int]]:
    """The rows of every partition, by its identity, read from the files themselves."""
    found: dict[Any, list[int]] = {}
    for file in data_files(table.refresh()):
        rows = pq.read_table(local(file)).to_pylist()
        assert {identity(row["d"]) for row in rows} == {identity(file.partition[0])}
        found.setdefault(identity(file.partition[0]), []).extend(row["id"] for row in rows)
    return {key: sorted(ids) for key, ids in found.items()}


@pytest.mark.parametrize("output_spec_id", [None, 1])
def test_zeros_of_both_signs_are_two_partitions(catalog: SqlCatalog, output_spec_id: int | None) -> None:
    table = zeros(catalog)
    before = partitions(table)
    assert len(before) == 4
    if output_spec_id is not None:
        table.update_spec().add_field("id", "bucket[2]", "id_bucket").commit()
    options = {**ALL, **({} if output_spec_id is None else {"output-spec-id": output_spec_id})}
    result = rewrite_data_files(table, ["id"], options=options)
    assert (result.rewritten_data_files_count, result.added_data_files_count) == (8, 4)
    assert partitions(table) == before
    for manifest in head_of(table).manifests(table.io):
        if manifest.has_added_files():
            (summary,) = manifest.partitions or []
            assert (summary.lower_bound, summary.upper_bound) == (bytes(7) + b"\x80", bytes(8))


def test_zeros_of_both_signs_are_told_apart_when_rows_change_their_spec(catalog: SqlCatalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("d", pa.float64())])
    table = table_of(catalog, schema)
    for start in (0, 10, 20):
        rows = [{"id": start + number, "d": value} for number, value in enumerate((0.0, -0.0, NAN, None, 1.5))]
        commit_files(table, data_file(table, rows))
    table.update_spec().add_identity("d").commit()
    assert rewrite_data_files(table, ["id"], options=ALL).added_data_files_count == 5
    assert partitions(table) == {
        identity(value): [number, 10 + number, 20 + number] for number, value in enumerate((0.0, -0.0, NAN, None, 1.5))
    }


def test_partitions_of_doubles_keep_all_their_digits(catalog: SqlCatalog) -> None:
    """PyIceberg's own reader gives both of these the value of the nearest number of 32 bits, which is the same."""
    table = table_of(catalog, pa.schema([("id", pa.int64()), ("d", pa.float64())]), partition="d")
    digits = (-194.58695324177165, -194.58695324177168)
    for number in range(4):
        value = digits[number % 2]
        commit_files(table, data_file(table, [{"id": number, "d": value}], Record(value)))
    commit_files(table, equality_delete(table, [{"id": 0}], ["id"], Record(digits[0])))
    assert rewrite_data_files(table, ["id"], options=ALL).added_data_files_count == 2
    files = [entry.data_file for entry in entries_of(table.refresh(), ManifestContent.DATA)]
    found = {file.partition[0]: [row["id"] for row in pq.read_table(local(file)).to_pylist()] for file in files}
    assert found == {digits[0]: [2], digits[1]: [1, 3]}


@pytest.mark.parametrize("kind", ["equality", "position"])
def test_deletes_of_a_nan_partition_are_found(catalog: SqlCatalog, kind: str) -> None:
    table = zeros(catalog)
    first, second = (file for file in data_files(table) if identity(file.partition[0]) == "nan")
    delete = (
        equality_delete(table, [{"id": 21}, {"id": 120}], ["id"], Record(NAN))
        if kind == "equality"
        else position_delete(table, first, [1], also={second.file_path: [0]})
    )
    commit_files(table, delete)
    rewrite_data_files(table, ["id"], options=ALL)
    assert partitions(table)["nan"] == [20, 22, 121, 122]
    assert deletes_of(table) == []


def test_a_conflict_in_a_nan_partition_is_planned_again(catalog: SqlCatalog) -> None:
    table = zeros(catalog)
    other = catalog.load_table("db.t")
    gone = next(file for file in data_files(table) if identity(file.partition[0]) == "nan")
    meanwhile = once(lambda: commit_files(other, position_delete(other, gone, [1])))
    result = rewrite_data_files(table, ["id"], options=ALL, progress=meanwhile)
    assert result.rewritten_data_files_count == 8
    assert partitions(table)["nan"] == [20, 22, 120, 121, 122]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("counted", [True, False])
def test_equality_deletes_of_nan_beside_values(catalog: SqlCatalog, kind: pa.DataType, counted: bool) -> None:
    table = table_of(catalog, pa.schema([("id", pa.int64()), ("d", kind)]))
    data = data_file(table, [{"id": number, "d": value} for number, value in enumerate((1.0, 2.0, NAN))])
    delete = equality_delete(table, [{"d": NAN}, {"d": 100.0}], ["d"])
    field = table.schema().find_field("d").field_id
    for file, low, high in ((data, 1.0, 2.0), (delete, 100.0, 100.0)):
        with_metrics(file, field, kind, low, high, nans=1 if counted else None)
    commit_files(table, data)
    commit_files(table, delete)
    rewrite_data_files(table, ["id"], options=ALL)
    assert [row["d"] for row in live(table)] == [1.0, 2.0]
    assert deletes_of(table) == []


def with_metrics(file: DataFile, field: int, kind: pa.DataType, low: float, high: float, nans: int | None) -> None:
    """Give a file the metrics that Iceberg's writers give it: bounds of what is no NaN."""
    encoded = [pa.array([value], kind).buffers()[1].to_pybytes()[: kind.bit_width // 8] for value in (low, high)]
    found = {
        "value_counts": file.record_count,
        "null_value_counts": 0,
        "nan_value_counts": nans,
        "lower_bounds": encoded[0],
        "upper_bounds": encoded[1],
    }
    for place, each in enumerate(DATA_FILE_TYPE[3].fields):
        if (value := found.get(each.name)) is not None:
            file[place] = {field: value}


def once(event: Any, stage: str = "write") -> Progress:
    """Make something happen when the first row group has been written."""
    events = [event]

    def progress(told: str, rows: int, size: int, /) -> None:
        if told == stage and events:
            events.pop()()

    return progress


def two_partitions(catalog: SqlCatalog) -> Table:
    """Two files of three rows in each of two partitions."""
    schema = pa.schema([("id", pa.int64()), ("p", pa.int32())])
    table = table_of(catalog, schema, partition="p")
    for start in (0, 100):
        files = [
            data_file(table, [{"id": start + 10 * p + each, "p": p} for each in range(3)], Record(p)) for p in (0, 1)
        ]
        commit_files(table, *files, one_manifest=True)
    return table


class TestSpecChanges:
    """While rows go from one spec to another, a writer that has the old one deletes by equality."""

    def evolve(self, table: Table) -> int:
        old = table.spec().spec_id
        table.update_spec().add_field("id", "bucket[2]", "id_bucket").commit()
        return old

    @pytest.mark.parametrize("partial", [False, True])
    def test_a_delete_of_the_old_spec_is_not_escaped(self, catalog: SqlCatalog, partial: bool) -> None:
        table = two_partitions(catalog)
        old = self.evolve(table)
        other = catalog.load_table("db.t")
        delete = equality_delete(other, [{"id": 11}], ["id"], Record(1), old)
        options = {**ALL, "partial-progress.enabled": partial}
        result = rewrite_data_files(table, ["id"], options=options, progress=once(lambda: commit_files(other, delete)))
        assert result.rewritten_data_files_count == 4
        assert sorted(row["id"] for row in live(table)) == [0, 1, 2, 10, 12, 100, 101, 102, 110, 111, 112]
        assert {file.spec_id for file in data_files(table)} == {table.spec().spec_id}

    def test_a_delete_of_the_new_spec_reaches_no_old_row(self, catalog: SqlCatalog) -> None:
        table = two_partitions(catalog)
        self.evolve(table)
        other = catalog.load_table("db.t")
        transform = table.spec().fields[1].transform.transform(table.schema().find_field("id").field_type)
        delete = equality_delete(other, [{"id": 11}], ["id"], Record(1, transform(11)))
        rewrite_data_files(table, ["id"], options=ALL, progress=once(lambda: commit_files(other, delete)))
        # By the specification it applies to files of its own spec and partition only, and there was none.
        rewrite_data_files(table, ["id"], options=ALL)
        assert sorted(row["id"] for row in live(table)) == [0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112]

    def test_global_deletes_do_not_conflict(self, catalog: SqlCatalog) -> None:
        table = two_partitions(catalog)
        self.evolve(table)
        other = catalog.load_table("db.t")
        delete = equality_delete(other, [{"id": 11}], ["id"], spec_id=0)
        before = len(table.snapshots())
        rewrite_data_files(table, ["id"], options=ALL, progress=once(lambda: commit_files(other, delete)))
        assert len(table.refresh().snapshots()) == before + 2
        rewrite_data_files(table, ["id"], options=ALL)
        assert sorted(row["id"] for row in live(table)) == [0, 1, 2, 10, 12, 100, 101, 102, 110, 111, 112]


def test_bounds_are_those_of_the_rows_and_not_of_their_dictionary(catalog: SqlCatalog) -> None:
    """Of a batch of NULLs, Arrow takes the dictionary's first value into the statistics."""
    table = table_of(catalog, pa.schema([("s", pa.string())]))
    texts = pa.array(["a", "m", "z"], pa.large_string())
    parts = [pa.DictionaryArray.from_arrays(pa.array(each, pa.int32()), texts) for each in ([None], [1])]
    file = of_one_row_group(table, parts)
    assert (file.lower_bounds, file.upper_bounds) == ({1: b"m"}, {1: b"m"})


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_dropped_partition_field_of_a_required_column(catalog: SqlCatalog, version: str) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.int32())])
    table = table_of(catalog, schema, partition="id", **{"format-version": version})
    table.update_spec().remove_field("id_part").commit()
    spec = table.spec()
    partition = Record(*[None] * len(spec.fields))
    for number in range(3):
        commit_files(table, data_file(table, [{"id": number, "p": 1}], partition, spec.spec_id))
    rewrite_data_files(table, ["p", "id"], options=ALL)
    assert values(table, "id") == [0, 1, 2]
    assert len(data_files(table)) == 1


@pytest.mark.parametrize("options", [ALL, {"max-scan-ratio": "Infinity", "min-input-files": 2}])
def test_files_whose_entries_count_no_row_are_left_and_told(catalog: SqlCatalog, options: dict[str, Any]) -> None:
    """Filters skip such a file, though it may hold rows: to rewrite it could show rows that queries have not seen."""
    table = catalog.create_table("db.t", pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    numbers = [[number * 7919 % 1009 for number in range(start, start + 100)] for start in range(0, 500, 100)]
    rows = [pa.table({"a": each, "b": each}) for each in numbers]
    files = [*(new_file(table, each) for each in rows[:3]), *(uncounted(table, each) for each in rows[3:])]
    commit_files(table, *files, uncounted(table, rows[0].slice(0, 0)), one_manifest=True)
    found = report(table.refresh(), "a, b")
    (said,) = [each for each in found.findings if each.code == "files-without-rows"]
    assert (found.total_rows, found.files_without_rows, said.severity, said.evidence) == (
        300,
        3,
        "warning",
        {"files": 3},
    )
    assert said.message.startswith("3 files have no rows by their manifest entries, so filters and rewrites skip them")
    plan = plan_rewrite(table, "a, b", options=options)
    assert [sorted(group.paths) for group in plan.groups] == [sorted(file.file_path for file in files[:3])]
    (left,) = [each for each in plan.left if each.reasons[0].code == "no-rows"]
    assert (left.data_files_count, left.reason) == (3, "no rows by their manifest entries, so filters skip them, too")
    assert plan.end_marker
    sample(table, plan)
    assert execute(table, plan).rewritten_data_files_count == 3
    assert values(table, "a") == sorted([*numbers[0], *numbers[1], *numbers[2]], key=repr)
    again = plan_rewrite(table, "a, b", options=options)
    assert {file.file_path for file in files[3:]} < {path for each in again.left for path in each.paths}


def uncounted(table: Table, rows: pa.Table) -> DataFile:
    """A file of another writer, whose entry has neither its rows nor bounds."""
    file = new_file(table, rows, has_statistics=False)
    file._data[4] = 0
    assert file.record_count == 0
    return file
