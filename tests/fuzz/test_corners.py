"""Corners in which rows were lost or came back without an error, each in the smallest table that has it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.checks import Check
from tests.fuzz.disturbances import Disturbances
from tests.fuzz.lakes import Lake, lake
from tests.fuzz.model import EQUALITY_DELETES, Row
from tests.fuzz.requests import Request
from tests.fuzz.types import Field, Leaf, Struct, identity, leaves
from tests.fuzz.writing import Style, Written, equality_deletes, position_deletes, write_file

NAN = float("nan")
PLAIN = Style({"use_dictionary": False})
Spec = Sequence[tuple[str, str]]


class Corner:
    """A table that is made step by step, of columns in the order of their ids.

    Parameters
    ----------
    directory : pathlib.Path
        Where.
    columns : mapping of str to str
        Types by name; one that ends in ``!`` is required.
    by : sequence of (str, str)
        Partition fields: columns and transforms.
    """

    def __init__(self, directory: Path, columns: Mapping[str, str], by: Spec = (), **properties: str) -> None:
        fields = [
            Field(place, name, of.rstrip("!"), of.endswith("!"))
            for place, (name, of) in enumerate(columns.items(), start=1)
        ]
        self.schema = Struct(tuple(fields))
        self.ids = {field.name: field.id for field in fields}
        self.lake: Lake = lake(random.Random(0), directory)
        spec = [
            {"source-id": self.ids[name], "field-id": 1000 + place, "transform": transform, "name": f"p{place}"}
            for place, (name, transform) in enumerate(by)
        ]
        self.history = self.lake.history
        self.history.create(self.lake.location, self.schema, spec, {"format-version": "2", **properties})

    def data(self, *rows: Row, spec: int = 0, style: Style = PLAIN) -> list[Written]:
        """Write data files, one for each partition."""
        return [
            write_file(self.lake.location, self.schema, part, style, spec_id=spec, partition=partition)
            for partition, part in self.history.partitioned(rows, self.schema, spec)
        ]

    def equal(self, key: str, *rows: Row, spec: int = 0) -> list[Written]:
        """Write equality deletes, one file for each partition."""
        keys: list[Leaf] = [leaf for leaf in leaves(self.schema) if leaf.name == key]
        return [
            equality_deletes(self.lake.location, self.schema, keys, part, PLAIN, spec_id=spec, partition=partition)
            for partition, part in self.history.partitioned(rows, self.schema, spec)
        ]

    def positions(self, deleted: Mapping[str, Sequence[int]], of: Written) -> Written:
        """Write position deletes of one partition that do not say which files they are of."""
        rows = [(path, position) for path, positions in deleted.items() for position in positions]
        return position_deletes(
            self.lake.location, rows, PLAIN, named="nothing", spec_id=of.spec_id, partition=of.partition
        )

    def append(self, *rows: Row, spec: int = 0, style: Style = PLAIN) -> list[Written]:
        """Commit rows."""
        written = self.data(*rows, spec=spec, style=style)
        self.history.commit(written, "append")
        return written

    def rows(self) -> list[Any]:
        """All rows, sorted."""
        return sorted((identity(row) for file in self.history.read() for row in file.rows), key=repr)

    def partition_by(self, column: str, transform: str = "identity") -> None:
        """Partition by one column from now on."""
        with self.history.table.refresh().update_spec() as update:
            for field in self.history.table.spec().fields:
                update.remove_field(field.name)
            update.add_field(column, transform, f"by_{column}")

    def complaints(
        self,
        by: str = "id",
        meanwhile: Callable[[], None] | None = None,
        *,
        memory: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Rewrite all files, and list what is wrong afterwards; ``meanwhile`` happens when the first file is read."""
        disturbances = Disturbances(self.history, {("read", 1): meanwhile} if meanwhile else {})
        small = {} if memory is None else {"memory": memory}
        request = Request(by, {"rewrite-all": "true", **(options or {})}, None, small)
        return Check(self.lake, request, disturbances).run(random.Random(1))


def test_deletes_of_a_nan_partition(tmp_path: Path) -> None:
    corner = Corner(tmp_path, {"id": "int", "p": "double"}, [("p", "identity")])
    (first,) = corner.append((1, NAN), (2, NAN))
    (second,) = corner.append((3, NAN), (4, NAN))
    corner.history.commit(corner.equal("id", (1, NAN)), "equality delete")
    corner.history.commit([corner.positions({first.path: [1], second.path: [0]}, first)], "position delete")
    assert [row[0] for row in corner.rows()] == [4]
    assert corner.complaints() == []
    assert [row[0] for row in corner.rows()] == [4]


def test_a_nan_partition_after_a_conflict(tmp_path: Path) -> None:
    corner = Corner(tmp_path, {"id": "int", "p": "double"}, [("p", "identity")])
    (first,) = corner.append((1, NAN), (2, NAN))

    def delete() -> None:
        corner.history.commit([corner.positions({first.path: [0]}, first)], "position delete")

    assert corner.complaints(meanwhile=delete) == []
    assert first.path not in {file.entry.path for file in corner.history.read()}


def test_partitions_of_both_zeros(tmp_path: Path) -> None:
    corner = Corner(tmp_path, {"id": "int", "p": "double"}, [("p", "identity")])
    corner.append((1, 0.0), (2, -0.0), (3, 0.0))
    assert corner.complaints() == []
    assert len(corner.history.read()) == 2


def test_equality_deletes_with_nan_beside_values(tmp_path: Path) -> None:
    corner = Corner(tmp_path, {"id": "int", "x": "double"})
    corner.append((1, 1.0), (2, 2.0), (3, NAN))
    corner.history.commit(corner.equal("x", (0, NAN), (0, 100.0)), "equality delete")
    assert len(corner.rows()) == 2
    assert corner.complaints() == []
    assert len(corner.rows()) == 2


@pytest.mark.parametrize("output_spec", [0, 1])
@pytest.mark.parametrize("writer", [0, 1])
def test_equality_deletes_of_one_spec_while_files_move_to_another(
    tmp_path: Path, output_spec: int, writer: int
) -> None:
    """One of the old spec reaches the old files only, one of the new spec the new files only: neither may go unseen."""
    corner = Corner(tmp_path, {"id": "int", "p": "int", "q": "int"}, [("p", "identity")])
    corner.append((1, 1, 1), (2, 1, 1))
    corner.partition_by("q")
    corner.append((3, 1, 1), (4, 1, 1), spec=1)

    def delete() -> None:
        corner.history.commit(corner.equal("id", (1, 1, 1), (3, 1, 1), spec=writer), "equality delete")

    assert corner.complaints(meanwhile=delete, options={"output-spec-id": str(output_spec)}) == []
    assert [row[0] for row in corner.rows()] == ([2, 3, 4] if writer == 0 else [1, 2, 4])


def test_global_equality_deletes_while_files_move_to_another_spec(tmp_path: Path) -> None:
    corner = Corner(tmp_path, {"id": "int", "p": "int"})
    corner.append((1, 1), (2, 1))
    corner.partition_by("p")
    corner.append((3, 1), spec=1)

    def delete() -> None:
        corner.history.commit(corner.equal("id", (1, 0), (3, 0)), "equality delete")

    assert corner.complaints(meanwhile=delete) == []
    assert [row[0] for row in corner.rows()] == [2]


def test_nanoseconds_in_a_column_of_microseconds(tmp_path: Path) -> None:
    corner = Corner(tmp_path, {"id": "int", "t": "timestamp"})
    corner.append((1, 1_000), style=Style(nanoseconds=1))
    before = corner.rows()
    assert corner.complaints() == []
    assert corner.rows() == before


def test_partitions_of_doubles_that_are_no_floats(tmp_path: Path) -> None:
    """PyIceberg's faster decoder rounds them, and the deletes of the partition would not be found again."""
    corner = Corner(tmp_path, {"id": "int", "p": "double"}, [("p", "identity")])
    corner.append((1, 0.1), (2, 0.1))
    corner.append((3, 0.1), (4, 0.1 + 2**-55))
    corner.history.commit(corner.equal("id", (1, 0.1)), "equality delete")
    assert corner.complaints() == []
    assert [row[0] for row in corner.rows()] == [2, 3, 4]


@pytest.mark.parametrize("value", [None, "long"])
def test_bounds_of_no_other_files_values(tmp_path: Path, value: str | None) -> None:
    """Strings come in dictionaries, which have values that a file's own rows do not refer to."""
    corner = Corner(tmp_path, {"id": "int", "s": "string"})
    long = "z" * 5000
    texts = [None if value is None else f"a{each % 3}" for each in range(50)] + [long if value else "b"] * 50
    rows = [(each, text) for each, text in enumerate(texts)]
    corner.append(*rows, style=Style({"use_dictionary": True}))
    size = corner.history.read()[0].entry.file["file_size_in_bytes"]
    assert corner.complaints(options={"target-file-size-bytes": str(size // 4), "cuts": "even"}) == []


def test_a_void_partition_field_of_a_required_column(tmp_path: Path) -> None:
    corner = Corner(tmp_path, {"id": "int!", "p": "int!"}, [("p", "void"), ("id", "bucket[2]")])
    corner.append((1, 1), (2, 1), (3, 2))
    assert corner.complaints("p") == []


def test_clustering_columns_that_some_files_hold_as_arrows_dictionaries(tmp_path: Path) -> None:
    corner = Corner(tmp_path, {"id": "int", "s": "string"})
    corner.append((1, "a"), (2, "b"), style=Style({"store_schema": True}, dictionary=True))
    corner.append((3, None), (4, "c"))
    assert corner.complaints("s") == []


def test_files_that_another_rewrite_made_of_one_partition(tmp_path: Path) -> None:
    """A group of files of several specs comes back after a conflict as one of a partition: it is the same rows."""
    corner = Corner(tmp_path, {"id": "int", "p": "int"})
    corner.append((1, 1), (2, 1))
    corner.partition_by("p")
    assert corner.complaints(meanwhile=Disturbances(corner.history).rewrite) == []


def test_decimals_of_all_widths_keep_their_partitions(tmp_path: Path) -> None:
    most = Decimal("9" * 38)
    corner = Corner(tmp_path, {"id": "int", "d": "decimal(38,0)"}, [("d", "identity")])
    corner.append((1, most), (2, Decimal("-" + "9" * 38)), (3, Decimal(0)))
    corner.history.commit(corner.equal("id", (1, most)), "equality delete")
    assert corner.complaints() == []
    assert [row[0] for row in corner.rows()] == [2, 3]
    deletes = [entry for entry in corner.history.entries() if entry.content == EQUALITY_DELETES]
    assert deletes == []
