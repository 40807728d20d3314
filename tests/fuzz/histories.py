"""Random histories: tables as a number of engines leave them behind, one commit after the other."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import parse_transform

from tests.fuzz import writing
from tests.fuzz.catalog import Store, StoreCatalog
from tests.fuzz.model import DATA, EQUALITY_DELETES, POSITION_DELETES, Entry, FileRows, Metadata, Model, Row
from tests.fuzz.random_values import Values, draw_schema, draw_transform, draw_type
from tests.fuzz.transforms import apply, iceberg_type
from tests.fuzz.types import Leaf, Struct, identity, java_deletes_by, leaves, parse, to_json
from tests.fuzz.writing import Style, Written, equality_deletes, position_deletes, write_file
from tests.present import present

NAME = "db.t"


@dataclass
class Shape:
    """How large a history's table is to be."""

    rows: int = 60  # of an append at most
    files: int = 4  # of an append at most; rows of more partitions are left out
    steps: int = 5  # commits after the first


@dataclass
class History:
    """A table, and the operations that other engines may carry out on it."""

    rng: random.Random
    catalog: StoreCatalog
    model: Model
    shape: Shape = field(default_factory=Shape)
    log: list[str] = field(default_factory=list)
    branch: str = "main"
    renamed: int = 0
    has_nanoseconds: bool = False
    has_finer_deletes: bool = False  # by nanoseconds that no value of a column of microseconds has
    for_spark: bool = False  # no types that it has not, and nothing that its readers take for something else

    def __post_init__(self) -> None:
        self.values = Values(self.rng, self.rng.choice([0.0, 0.0, 0.1, 0.5]))
        self.table: Table

    def fork(self) -> None:
        """Go on in a branch; what was before stays as it is."""
        self.table.refresh()
        head = present(self.metadata.head())
        self.table.manage_snapshots().create_branch(head, "side").commit()
        self.branch = "side"
        self.log.append("branch side")

    def make(self, location: str) -> None:
        """Create the table, and give it a history."""
        rng = self.rng
        self.begin(location)
        for _ in range(rng.randint(1, self.shape.steps)):
            self.step()
        if rng.random() < 0.5:
            self.append()
        if rng.random() < 0.07:
            self.fork()
            self.step()

    def begin(self, location: str) -> None:
        """Create the table, with its first rows."""
        rng = self.rng
        version = rng.choice([1, 2, 2, 2, 2, 2, 2, 2])
        schema = draw_schema(rng, frozenset({"time"} if self.for_spark else ()))
        fields = self._draw_spec(schema) if rng.random() < 0.6 else []
        self.create(location, schema, fields, {"format-version": str(version), **self._draw_properties()})
        self.append()

    def create(
        self, location: str, schema: Struct, fields: Sequence[Mapping[str, Any]], properties: Mapping[str, str]
    ) -> None:
        """Create the table, with partition fields as metadata has them."""
        self.table = self.catalog.make(
            NAME,
            Schema.model_validate({"schema-id": 0, **to_json(schema)}),
            PartitionSpec.model_validate({"spec-id": 0, "fields": fields}),
            location,
            # Files as small as these would all be made one, were it not for nothing to open them.
            {
                "commit.retry.min-wait-ms": "1",
                "commit.retry.max-wait-ms": "2",
                "read.split.open-file-cost": "1",
                **properties,
            },
        )
        assert parse(self.table.schema().model_dump(by_alias=True)) == schema
        self.table.append(pa.Table.from_batches([], schema_to_pyarrow(self.table.schema())))
        spec = [(each["name"], each["transform"]) for each in fields]
        self.log.append(f"{self.table.schema()} by {spec} {dict(properties)}")

    @property
    def metadata(self) -> Metadata:
        return Metadata.load(self.table.metadata_location)

    @property
    def version(self) -> int:
        return int(self.table.metadata.format_version)

    def step(self) -> None:
        """Do one random operation."""
        steps: list[tuple[Callable[[], None], float]] = [
            (self.append, 3),
            (self.change_schema, 3),
            (self.change_spec, 2),
            (self.scatter, 0.2),
        ]
        if self.version > 1:
            steps += [(self.upsert, 4), (self.delete_equal, 3), (self.delete_positions, 4)]
        (chosen,) = self.rng.choices([step for step, _ in steps], [weight for _, weight in steps])
        chosen()

    def read(self) -> list[FileRows]:
        """Read the table as it is now."""
        found = self._manifest_list()
        return self.model.read(self.metadata, found) if found else []

    def entries(self) -> list[Entry]:
        """List the data and delete files that the table has now."""
        found = self._manifest_list()
        return self.model.live(self.metadata, found) if found else []

    def _manifest_list(self) -> str | None:
        self.table.refresh()
        head = self.metadata.head(self.branch) or self.metadata.head()
        return None if head is None else str(self.metadata.snapshot(head)["manifest-list"])

    def append(self) -> None:
        """Append rows, sometimes by an older partition spec."""
        self.table.refresh()
        self.commit(self._data_files(self._some_spec()), "append")

    def upsert(self) -> None:
        """Delete rows by equality and write others in one commit, as Flink does."""
        spec_id = self._some_spec()
        self.commit([*self._equality_deletes(spec_id), *self._data_files(spec_id)], "upsert")

    def delete_equal(self) -> None:
        """Delete rows by equality, often by an older partition spec."""
        self.commit(self._equality_deletes(self._some_spec()), "equality delete")

    def delete_positions(self) -> None:
        """Delete rows by their position, with a file for each data file or for a whole partition."""
        files = [file for file in self.read() if file.rows]
        if not files:
            return
        rng = self.rng
        places: dict[Any, list[FileRows]] = {}
        for file in rng.sample(files, rng.randint(1, min(4, len(files)))):
            places.setdefault(file.entry.place, []).append(file)
        deletes = []
        for several in places.values():
            for together in [several] if rng.random() < 0.5 else [[each] for each in several]:
                rows = [(file.entry.path, position) for file in together for position in self._some_positions(file)]
                entry = together[0].entry
                deletes.append(
                    position_deletes(
                        self.table.location(),
                        rows,
                        self._style(len(rows)),
                        named=rng.choice(["bounds", "bounds", "reference", "nothing"]),
                        spec_id=entry.spec_id,
                        partition=entry.partition,
                    )
                )
        self.commit(deletes, "position delete")

    def overwrite(self) -> None:
        """Write one or two data files again without some of their rows, as copy-on-write does."""
        rng, schema = self.rng, self.metadata.schema
        files = rng.sample(found := self.read(), min(len(found), rng.choice([1, 1, 2])))
        written = []
        for file in files:
            kept = rng.sample(file.rows, max(0, len(file.rows) - rng.choice([0, 1, 5])))
            if kept:
                where: dict[str, Any] = {"spec_id": file.entry.spec_id, "partition": file.entry.partition}
                rows = [whole(row) for row in kept]
                written.append(write_file(self.table.location(), schema, rows, self._style(len(rows)), **where))
        self.commit(written, "copy-on-write", [file.entry.path for file in files])

    def merge_deletes(self) -> None:
        """Write the position deletes of a partition to one file."""
        places: dict[Any, list[Entry]] = {}
        for entry in self.entries():
            if entry.content == POSITION_DELETES:
                places.setdefault(entry.place, []).append(entry)
        if not places:
            return
        old = self.rng.choice(list(places.values()))
        rows = sorted({row for entry in old for row in self.model.positions(entry)})
        style, named = self._style(len(rows)), self.rng.choice(["bounds", "nothing"])
        where: dict[str, Any] = {"spec_id": old[0].spec_id, "partition": old[0].partition}
        merged = position_deletes(self.table.location(), rows, style, named=named, **where)
        self.commit([merged], "merge of deletes", [entry.path for entry in old])

    def revive(self) -> None:
        """Remove a delete file, so that its rows are live again."""
        deletes = sorted(entry.path for entry in self.entries() if entry.content != DATA)
        if deletes:
            self.commit([], "revival", [self.rng.choice(deletes)])

    def change_schema(self) -> None:
        """Add, drop, rename, promote or move a column."""
        self.table.refresh()
        change = self.rng.choice(
            [self._add, self._add, self._drop, self._rename, self._promote, self._promote, self._move]
        )
        change(parse(self.table.schema().model_dump(by_alias=True)))

    def change_spec(self) -> None:
        """Add or remove a partition field."""
        self.table.refresh()
        rng = self.rng
        fields = self.table.spec().fields
        used = {(each.source_id, str(each.transform)) for each in fields}
        with self.table.update_spec() as update:
            if fields and rng.random() < 0.5:
                update.remove_field(rng.choice(fields).name)
            else:
                leaf = rng.choice(leaves(parse(self.table.schema().model_dump(by_alias=True))))
                transform = self._draw_transform(leaf)
                if transform != "void" and (leaf.id, transform) not in used and len(fields) < 3:
                    name = f"p{self._number()}"
                    update.add_field(self.column_name(leaf.id), parse_transform(transform), name)
        self.log.append(f"spec {self.table.spec().spec_id}: {self.table.spec()}")

    def scatter(self) -> None:
        """Partition by the column of numbers, of which few are alike, once there are many rows of one partition."""
        fields = list(self.table.refresh().spec().fields)
        if self.branch != "main" or "id" not in self.table.schema().column_names:
            return
        with self.table.update_spec() as update:
            for each in fields:
                update.remove_field(each.name)
        unpartitioned = self.table.spec().spec_id
        self.commit(self._data_files(unpartitioned, rows=self.rng.choice([100, 400])), "append")
        self.table.update_spec().add_field("id", parse_transform("identity"), f"p{self._number()}").commit()
        self.log.append(f"spec {self.table.spec().spec_id}: {self.table.spec()}")

    def column_name(self, field_id: int) -> str:
        """The full name of a field."""
        return present(self.table.schema().find_column_name(field_id))

    def _number(self) -> int:
        self.renamed += 1
        return self.renamed

    def _draw_spec(self, schema: Struct) -> list[dict[str, Any]]:
        rng, fields = self.rng, []
        for place, leaf in enumerate(rng.sample(leaves(schema), min(len(leaves(schema)), rng.choice([1, 1, 1, 2])))):
            transform = self._draw_transform(leaf)
            fields.append({"source-id": leaf.id, "field-id": 1000 + place, "transform": transform, "name": f"p{place}"})
        self.renamed = len(fields)
        return fields

    def _draw_transform(self, leaf: Leaf) -> str:
        # A partition's value is a part of paths, which file systems limit.
        short = leaf.type not in ("string", "binary") or self.values.longest(leaf) < 100
        if not short or (self.for_spark and leaf.type.startswith("fixed")):
            return "bucket[4]"
        drawn = draw_transform(self.rng, leaf.type)
        # Spark takes a NULL struct for a struct of NULL if the partition has all its fields: that is refused.
        return "void" if drawn == "identity" and self.for_spark and len(leaf.names) > 1 else drawn

    def _draw_properties(self) -> dict[str, str]:
        rng = self.rng
        some = {
            "write.parquet.row-group-limit": rng.choice(["5", "50"]),
            "write.parquet.page-row-limit": rng.choice(["3", "20"]),
            "write.parquet.compression-codec": rng.choice(["snappy", "gzip", "uncompressed"]),
            "write.parquet.dict-size-bytes": "100",
            "write.metadata.metrics.default": rng.choice(["full", "truncate(1)", "truncate(3)", "truncate(16)"]),
            "write.object-storage.enabled": "true",
        }
        return {name: some[name] for name in rng.sample(sorted(some), rng.choice([0, 0, 1, 2]))}

    def _some_spec(self) -> int:
        ids = sorted(self.table.specs())
        known = set(self.table.schema().field_ids)
        usable = [each for each in ids if {f.source_id for f in self.table.specs()[each].fields} <= known]
        current = self.table.spec().spec_id
        return current if self.rng.random() < 0.6 or not usable else self.rng.choice(usable)

    def partitioned(self, rows: Sequence[Row], schema: Struct, spec_id: int) -> list[tuple[tuple[Any, ...], list[Row]]]:
        """Part rows by their partitions."""
        by_id = {leaf.id: leaf for leaf in leaves(schema)}
        fields = [(each.source_id, str(each.transform)) for each in self.table.specs()[spec_id].fields]
        found: dict[Any, tuple[tuple[Any, ...], list[Row]]] = {}
        for row in rows:
            # The source of a dropped partition field may be dropped, too.
            values = tuple(
                apply(transform, by_id[source].type, by_id[source].of(row)) if source in by_id else None
                for source, transform in fields
            )
            found.setdefault(identity(values), (values, []))[1].append(row)
        return list(found.values())

    def _data_files(self, spec_id: int, rows: int | None = None) -> list[Written]:
        rng, schema = self.rng, self.metadata.schema
        drawn = self.values.rows(schema, rng.randint(1, self.shape.rows) if rows is None else rows)
        omitted: frozenset[int] = frozenset()
        if rng.random() < 0.05:
            fields = self.table.specs()[spec_id].fields
            top = {each.id for each in schema.fields if isinstance(each.type, str)}
            omitted = frozenset(f.source_id for f in fields if str(f.transform) == "identity" and f.source_id in top)
        written = []
        for partition, part in self.partitioned(drawn, schema, spec_id)[: self.shape.files]:
            style = self._style(len(part))
            if len(omitted) == len(schema.fields):
                omitted = frozenset()
            written.append(
                write_file(
                    self.table.location(), schema, part, style, spec_id=spec_id, partition=partition, omitted=omitted
                )
            )
        return written

    def _equality_deletes(self, spec_id: int) -> list[Written]:
        rng, metadata = self.rng, self.metadata
        schema = metadata.schema
        files = [file for file in self.read() if file.rows]
        here = [file for file in files if file.entry.spec_id == spec_id]
        rows = [row for file in here or files for row in file.rows]
        chosen = rng.sample(rows, min(len(rows), rng.choice([1, 2, 10])))
        chosen = [whole(row) for row in chosen] + self.values.rows(schema, rng.choice([0, 1, 3]) if chosen else 1)
        fit = [leaf for leaf in leaves(schema) if not self.for_spark or java_deletes_by(leaf)]
        keys = rng.sample(fit, min(len(fit), rng.choice([1, 1, 2])))
        written = []
        for partition, part in self.partitioned(chosen, schema, spec_id):
            style = self._style(len(part))
            self.has_finer_deletes |= bool(style.nanoseconds)
            where = {"spec_id": spec_id, "partition": partition}
            written.append(equality_deletes(self.table.location(), schema, keys, part, style, **where))
        return written

    def _style(self, rows: int) -> Style:
        style = Style.draw(self.rng, rows)
        if self.for_spark:
            return replace(style, nanoseconds=None)
        self.has_nanoseconds |= style.nanoseconds is not None
        return style

    def _some_positions(self, file: FileRows) -> list[int]:
        count = int(file.entry.file["record_count"])
        return self.rng.sample(range(count), self.rng.choice([1, max(1, count // 4), count]))

    def commit(self, files: Sequence[Written], what: str, removed: Collection[str] = ()) -> None:
        """Commit files on top of what is there by then, and remove others."""
        if not files and not removed:
            return
        for _ in range(3):
            self.table.refresh()
            try:
                writing.commit(self.table, files, branch=self.branch, removed=removed)
            except CommitFailedException:
                continue
            break
        kinds = {DATA: "data", POSITION_DELETES: "positions", EQUALITY_DELETES: "equal"}
        told = ", ".join(
            f"{kinds[file.content]}[{file.record['record_count']}] {file.path.rpartition('-')[2][-12:]} of spec {file.spec_id} {file.partition}"
            + (f" ids {file.record['equality_ids']}" if file.content == EQUALITY_DELETES else "")
            for file in files
        )
        gone = "".join(f" -{path.rpartition('-')[2][-12:]}" for path in removed)
        self.log.append(f"{what}: {told}{gone}")

    def _add(self, schema: Struct) -> None:
        rng = self.rng
        structs = [each for each in schema.fields if isinstance(each.type, Struct)]
        name = f"n{self._number()}"
        of = draw_type(rng, frozenset({"time"} if self.for_spark else ()))
        kind = iceberg_type(of)
        path = (rng.choice(structs).name, name) if structs and rng.random() < 0.4 else name
        self.table.update_schema().add_column(path, kind).commit()
        self.log.append(f"add {path} {of}")

    def _drop(self, schema: Struct) -> None:
        used = {each.source_id for spec in self.table.specs().values() for each in spec.fields}
        if self.rng.random() < 0.3:
            used = {each.source_id for each in self.table.spec().fields}
        if self.for_spark:
            # Iceberg's reader in Spark 3.5 fails where rows were deleted by a column that is dropped since.
            used |= {each for entry in self.entries() for each in entry.file.get("equality_ids") or ()}
        free = [
            each
            for each in schema.fields
            if each.name != "id" and not used & {leaf.id for leaf in leaves(Struct((each,)))}
        ]
        if free:
            chosen = self.rng.choice(free)
            self.table.update_schema().delete_column((chosen.name,)).commit()
            self.log.append(f"drop {chosen.name}")

    def _rename(self, schema: Struct) -> None:
        chosen = self.rng.choice([each for each in schema.fields if each.name != "id"] or list(schema.fields))
        new = f"new {chosen.name[:3]}{self._number()}"
        self.table.update_schema().rename_column((chosen.name,), new).commit()
        self.log.append(f"rename {chosen.name} to {new}")

    def _promote(self, schema: Struct) -> None:
        wider = {"int": "long", "float": "double"}
        found = [leaf for leaf in leaves(schema) if leaf.type in wider or leaf.type.startswith("decimal")]
        # Hashes of a float's and a double's partition differ, as do a date's of a timestamp.
        if not found:
            return
        leaf = self.rng.choice(found)
        to = wider.get(leaf.type)
        if to is None:
            precision, _, scale = leaf.type[8:-1].partition(",")
            if precision == "38":
                return
            to = f"decimal({self.rng.randint(int(precision) + 1, 38)},{scale})"
        kind = iceberg_type(to)
        self.table.update_schema().update_column(self._path(schema, leaf), field_type=kind).commit()
        self.values.widen(leaf, to)
        self.log.append(f"promote {leaf.name} to {to}")

    def _path(self, schema: Struct, leaf: Leaf) -> tuple[str, ...]:
        names, fields = [], schema.fields
        for place in leaf.path:
            each = fields[place]
            names.append(each.name)
            fields = each.type.fields if isinstance(each.type, Struct) else ()
        return tuple(names)

    def _move(self, schema: Struct) -> None:
        chosen = self.rng.choice(schema.fields)
        self.table.update_schema().move_first((chosen.name,)).commit()
        self.log.append(f"move {chosen.name} first")


def whole(value: Any) -> Any:
    """Cut off what is finer than microseconds."""
    if isinstance(value, tuple):
        return tuple(whole(each) for each in value)
    return int(value // 1) if isinstance(value, Fraction) else value


@dataclass
class Lake:
    """A directory with a catalog and one random table."""

    directory: Path
    catalog: StoreCatalog
    history: History

    @property
    def model(self) -> Model:
        return self.history.model

    @property
    def location(self) -> str:
        return f"file://{self.directory}/t"


def lake(rng: random.Random, directory: Path, shape: Shape | None = None) -> Lake:
    """Make a lake whose table is still to be made."""
    store = Store()
    return Lake(directory, StoreCatalog(store), History(rng, StoreCatalog(store), Model(), shape or Shape()))
