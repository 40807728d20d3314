"""Tables that Iceberg's Java API makes, out of files that are written by hand: a commit takes as long as a small query in Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from tests.fuzz import types as ty
from tests.fuzz.model import DATA
from tests.fuzz.transforms import apply
from tests.fuzz.types import Leaf, Struct, leaves, parse
from tests.fuzz.writing import Written
from tests.spark.joins.values import in_partition
from tests.spark.tables import CATALOG, ICEBERG, local_path

_CONTENTS = ("data", "position-deletes", "equality-deletes")
_COUNTS = ("value_counts", "null_value_counts", "nan_value_counts")


@dataclass(frozen=True)
class PartitionField:
    """A field of a partition spec."""

    name: str
    transform: str
    source_id: int


class IcebergTable:
    """A table of the session's catalog, which Spark's queries see as it is after each commit."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self.spark, self.name = spark, name
        jvm: Any = spark.sparkContext._jvm
        self.iceberg = jvm.org.apache.iceberg
        self.catalog = self.iceberg.spark.Spark3Util.loadIcebergCatalog(spark._jsparkSession, CATALOG)
        self.identifier = self.iceberg.catalog.TableIdentifier.parse(f"db.{name}")
        self._schema: Struct | None = None
        self._fields: list[PartitionField] | None = None
        self._mapper = self.iceberg.shaded.com.fasterxml.jackson.databind.ObjectMapper()

    @property
    def sql_name(self) -> str:
        return f"{CATALOG}.db.{self.name}"

    def on(self, branch: str) -> str:
        """The name of a branch in SQL."""
        return self.sql_name if branch == "main" else f"{self.sql_name}.branch_{branch}"

    def create(self, schema: Struct, fields: Iterable[PartitionField], properties: Mapping[str, str]) -> None:
        """Create the table; its columns have the ids that Iceberg gives to new ones."""
        java_schema = self.iceberg.SchemaParser.fromJson(json.dumps({"schema-id": 0, **ty.to_json(schema)}))
        spec = [
            {"source-id": each.source_id, "field-id": 1000 + place, "name": each.name, "transform": each.transform}
            for place, each in enumerate(fields)
        ]
        java_spec = self.iceberg.PartitionSpecParser.fromJson(java_schema, json.dumps({"spec-id": 0, "fields": spec}))
        builder = self.catalog.buildTable(self.identifier, java_schema).withPartitionSpec(java_spec)
        for key, value in properties.items():
            builder.withProperty(key, value)
        builder.create()
        assert self.schema() == schema

    def exists(self) -> bool:
        return bool(self.catalog.tableExists(self.identifier))

    def drop(self) -> None:
        """Drop the table with its files: Iceberg would look for each of them."""
        location = self.location()
        self.catalog.dropTable(self.identifier, False)
        shutil.rmtree(local_path(location))

    def java(self) -> JavaObject:
        """The table as it is now."""
        return self.catalog.loadTable(self.identifier)

    def commit(self, update: JavaObject) -> None:
        """Commit a change of Iceberg's API."""
        update.commit()
        self._schema = self._fields = None
        self.catalog.invalidateTable(self.identifier)

    def schema(self) -> Struct:
        """The current schema."""
        if self._schema is None:
            self._schema = parse(json.loads(self.iceberg.SchemaParser.toJson(self.java().schema())))
        return self._schema

    def fields(self) -> list[PartitionField]:
        """The fields of the current partition spec."""
        if self._fields is None:
            found = json.loads(self.iceberg.PartitionSpecParser.toJson(self.java().spec()))["fields"]
            self._fields = [PartitionField(each["name"], each["transform"], each["source-id"]) for each in found]
        return self._fields

    def leaf(self, name: str) -> Leaf:
        """A column, by its full name."""
        (found,) = (each for each in leaves(self.schema()) if each.name == name)
        return found

    def head(self, branch: str = "main") -> int:
        return int(self.java().snapshot(branch).snapshotId())

    def location(self) -> str:
        return str(self.java().location())

    def spec_id(self) -> int:
        return int(self.java().spec().specId())

    def add(self, files: Sequence[Written], branch: str = "main") -> None:
        """Commit data files, or delete files with them, as another engine would."""
        table = self.java()
        if all(each.content == DATA for each in files):
            update = table.newAppend()
            for each in files:
                update.appendFile(self._content_file(table, each))
        else:
            update = table.newRowDelta()
            for each in files:
                made = self._content_file(table, each)
                update.addRows(made) if each.content == DATA else update.addDeletes(made)
        self.commit(update if branch == "main" else update.toBranch(branch))

    def _content_file(self, table: JavaObject, file: Written) -> JavaObject:
        spec, record = table.specs().get(file.spec_id), file.record
        content, partition = _CONTENTS[file.content], _partition(spec, file.partition)
        if ICEBERG < (1, 11):
            content = content.upper().replace("-", "_")
        found = {
            "spec-id": file.spec_id,
            "content": content,
            "file-path": file.path,
            "file-format": "parquet",
            # Iceberg 1.10 has an object where later releases have an array.
            "partition": partition if ICEBERG < (1, 11) else list(partition.values()),
            "file-size-in-bytes": record["file_size_in_bytes"],
            "record-count": record["record_count"],
        }
        for name in _COUNTS:
            if counts := record.get(name):
                found[name.replace("_", "-")] = {"keys": list(counts), "values": list(counts.values())}
        for name in ("lower_bounds", "upper_bounds"):
            if bounds := record.get(name):
                in_hexadecimal = [each.hex().upper() for each in bounds.values()]
                found[name.replace("_", "-")] = {"keys": list(bounds), "values": in_hexadecimal}
        if file.content == DATA:
            found["split-offsets"] = [4]  # Files without them were imported.
        if record.get("equality_ids"):
            found["equality-ids"] = record["equality_ids"]
        return self.iceberg.ContentFileParser.fromJson(self._mapper.readTree(json.dumps(found)), spec)

    def partition_of(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """The partition in which a row of the current schema belongs by the current spec."""
        by_id = {leaf.id: leaf for leaf in leaves(self.schema())}
        sources = [(each.transform, by_id[each.source_id]) for each in self.fields()]
        return tuple(_transformed(transform, leaf.type, leaf.of(row)) for transform, leaf in sources)

    def evolve(self, *changes: tuple[Any, ...]) -> None:
        """Change the schema: each change is a method of Iceberg's ``UpdateSchema`` and its arguments."""
        update = self.java().updateSchema()
        for method, *arguments in changes:
            getattr(update, method)(*arguments)
        self.commit(update)

    def type_of(self, of: str) -> JavaObject:
        return self.iceberg.types.Types.fromPrimitiveString(of)

    def default_of(self, value: Any, of: str) -> JavaObject:
        """A literal, as Iceberg's defaults are given."""
        return self.iceberg.expressions.Expressions.lit(in_partition(value, of)).to(self.type_of(of))

    def partition_by(self, column: str, transform: str, name: str) -> None:
        """Give the table a spec of one field, or of none."""
        update = self.java().updateSpec()
        for each in self.fields():
            update.removeField(each.name)
        if transform != "none":
            update.addField(name, self._term(column, transform))
        self.commit(update)

    def _term(self, column: str, transform: str) -> JavaObject:
        expressions = self.iceberg.expressions.Expressions
        kind, _, argument = transform.rstrip("]").partition("[")
        if argument:
            return getattr(expressions, kind)(column, int(argument))
        if kind == "void":
            return expressions.transform(column, self.iceberg.transforms.Transforms.alwaysNull())
        return getattr(expressions, "ref" if kind == "identity" else kind)(column)

    def refs(self) -> JavaObject:
        """Branches and tags, to be changed."""
        return self.java().manageSnapshots()


def _partition(spec: JavaObject, values: Sequence[Any]) -> dict[str, Any]:
    """A partition in JSON, by the ids of its fields."""
    fields = spec.partitionType().fields()
    found = [fields[place] for place in range(fields.size())]
    types = [str(each.type().toString()).replace(" ", "") for each in found]
    ids = [str(each.fieldId()) for each in found]
    return {id_: in_partition(value, of) for id_, value, of in zip(ids, values, types, strict=True)}


def _transformed(transform: str, of: str, value: Any) -> Any:
    if of == "string" and value is not None and transform.startswith("bucket"):
        return apply(transform, "binary", value.encode("utf-8", "surrogateescape"))
    return apply(transform, of, value)
