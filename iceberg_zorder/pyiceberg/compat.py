"""All names of PyIceberg that are not public and that we use: only this module may break with a release.

In this order: the configuration of catalogs and the request that commits; the evaluators of filters; manifests and
manifest lists; schemas as Arrow has them, names of columns in files, transforms and paths of partitions.

Tried with PyIceberg 0.12. For a new release, run the tests with it: what has moved fails when it is imported, and each
name here says what it is for and what to do then. ``tests/test_private_names.py`` holds the rest of the project to
public names.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import methodcaller
from typing import Any, NamedTuple, TypeVar, cast

import pyarrow as pa
import pyarrow.fs as pa_fs
from pyiceberg.avro.codecs import CODEC_MAPPING_ICEBERG_TO_AVRO, KNOWN_CODECS, AvroCompressionCodec
from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.file import AvroFile, AvroOutputFile
from pyiceberg.avro.reader import DoubleReader, OptionReader, Reader, StructReader
from pyiceberg.conversions import to_bytes
from pyiceberg.exceptions import NotInstalledError
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import (
    BoundBooleanExpressionVisitor,
    _ExpressionEvaluationVisitor,
    _ExpressionEvaluator,
    _InclusiveMetricsEvaluationVisitor,
    _InclusiveMetricsEvaluator,
    bind,
    extract_field_ids,
    inclusive_projection,
    manifest_evaluator,
    visit,
)
from pyiceberg.io import FileIO, OutputFile
from pyiceberg.io.fsspec import FsspecFileIO
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriter,
    ManifestWriterV2,
    PartitionFieldSummary,
    _inherit_from_manifest,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionKey, PartitionSpec
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, AssertTableUUID, SetSnapshotRefUpdate
from pyiceberg.transforms import Transform
from pyiceberg.typedef import Record, RecursiveDict, TableVersion
from pyiceberg.types import BinaryType, DoubleType, FloatType, IntegerType, ListType, NestedField, StructType
from pyiceberg.utils.concurrent import ExecutorFactory
from pyiceberg.utils.config import Config, merge_config

from iceberg_zorder.errors import InvalidInputError

__all__ = [
    "CatalogType",
    "MappedField",
    "NameMapping",
    "arrow_transform",
    "configured",
    "infer_catalog_type",
    "is_rest",
    "load_catalog",
    "merge_config",
    "partition_path",
    "sanitize_column_names",
    "schema_to_pyarrow",
    "submit",
]


@contextmanager
def _reading_the_configuration() -> Iterator[None]:
    """Tell whatever goes wrong as a failure to read the configuration.

    Its parser raises exceptions of a package that PyIceberg chooses, and this project does not depend on.
    """
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise InvalidInputError(f"Cannot read the configuration of PyIceberg, because {error}") from error


with _reading_the_configuration():
    # Importing this module reads the configuration already.
    from pyiceberg.catalog import Catalog, CatalogType, infer_catalog_type, load_catalog
    from pyiceberg.catalog.rest import RestCatalog


class Configured(NamedTuple):
    """What PyIceberg's configuration says of a catalog: no properties where it does not know it; all known names."""

    name: str
    properties: RecursiveDict | None
    known: list[str]


def configured(name: str | None) -> Configured:
    """Read ``.pyiceberg.yaml`` and ``PYICEBERG_CATALOG__`` variables, as they are now."""
    with _reading_the_configuration():
        config = Config()
        chosen = config.get_default_catalog_name() if name is None else name
        return Configured(chosen, config.get_catalog_config(chosen), config.get_known_catalogs())


def is_rest(catalog: Catalog) -> bool:
    """Tell whether a catalog is one that is asked over REST."""
    return isinstance(catalog, RestCatalog)


def submit(table: Table, snapshot: Snapshot, branch: str) -> None:
    """Ask the catalog to make a new snapshot the head of a branch; the table object then has the new metadata."""
    move_branch(table, branch, snapshot.parent_snapshot_id, snapshot.snapshot_id, AddSnapshotUpdate(snapshot=snapshot))


def move_branch(table: Table, branch: str, head: int | None, new_head: int, *before: AddSnapshotUpdate) -> None:
    """Ask the catalog to move a branch to another snapshot, if its head is still the given one."""
    ref = table.metadata.refs[branch]
    # An update that leaves out how long a branch keeps its snapshots would take that from the branch.
    update = ref.model_dump(by_alias=True) | {"ref-name": branch, "snapshot-id": new_head}
    required = {"ref": branch, "snapshot-id": head}
    # What a Transaction does at its end, after it has made up the updates itself.
    table._do_commit(
        updates=(*before, SetSnapshotRefUpdate.model_validate(update)),
        requirements=(AssertTableUUID(uuid=table.metadata.table_uuid), AssertRefSnapshotId.model_validate(required)),
    )


def _projected(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> BooleanExpression:
    """Make of a filter of rows one of partitions, which leaves all where PyIceberg leaves the range of dates."""
    try:
        return inclusive_projection(schema, spec, case_sensitive)(row_filter)
    except OverflowError:
        return AlwaysTrue()


def manifest_may_match(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> Callable[[ManifestFile], bool]:
    """Tell which manifests of a spec may hold files with rows that match, by their partition summaries."""
    projected = _projected(spec, schema, row_filter, case_sensitive)
    found: Callable[[ManifestFile], bool] = manifest_evaluator(spec, schema, projected, case_sensitive)
    return found


def partition_may_match(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> Callable[[DataFile], bool]:
    """Tell which files of a spec may hold rows that match, by their partition."""
    projected = _projected(spec, schema, row_filter, case_sensitive)
    if isinstance(projected, AlwaysTrue):
        return lambda _: True
    bound = _ExpressionEvaluator(Schema(*spec.partition_type(schema).fields), projected, case_sensitive).bound
    evaluate = _evaluation(bound)
    return lambda file: evaluate(_ExpressionEvaluationVisitor(file.partition))


def file_may_match(schema: Schema, row_filter: BooleanExpression, case_sensitive: bool) -> Callable[[DataFile], bool]:
    """Tell which files may hold rows that match, by their metrics; a file without rows may not, but for no filter."""
    if isinstance(row_filter, AlwaysTrue):
        return lambda _: True
    evaluate = _evaluation(_InclusiveMetricsEvaluator(schema, row_filter, case_sensitive).expr)

    def may_match(file: DataFile) -> bool:
        # A count below 0 is not known.
        rows = file.record_count
        return rows < 0 or (rows > 0 and evaluate(_InclusiveMetricsEvaluationVisitor(file)))

    return may_match


def filtered_fields(schema: Schema, row_filter: BooleanExpression, case_sensitive: bool) -> list[int]:
    """Find the ids of the fields that a filter looks at, increasing."""
    return sorted(extract_field_ids(bind(schema, row_filter, case_sensitive)))


_Evaluation = Callable[[BoundBooleanExpressionVisitor[bool]], bool]


def _evaluation(bound: BooleanExpression) -> _Evaluation:
    """Go through a bound expression once: the function asks a visitor what going through it by that visitor would."""
    found: _Evaluation = visit(bound, _Evaluations())
    return found


def _asked(name: str) -> Callable[..., _Evaluation]:
    return lambda _, **operands: methodcaller(name, *operands.values())


# A method for each of the visitor's, which gives back what asks another visitor by the method of the same name.
_Evaluations: Any = type(
    "_Evaluations",
    (BoundBooleanExpressionVisitor,),
    {
        **{name: _asked(name) for name in BoundBooleanExpressionVisitor.__abstractmethods__},
        "visit_not": lambda _, child_result: lambda visitor: visitor.visit_not(child_result(visitor)),
        "visit_and": lambda _, left_result, right_result: lambda of: left_result(of) and right_result(of),
        "visit_or": lambda _, left_result, right_result: lambda of: left_result(of) or right_result(of),
    },
)


_T = TypeVar("_T")
_AVRO_CODEC = "write.avro.compression-codec"
# The fields of an entry's data file, by the newest format: their order is that of the values in a DataFile. When a
# release gives DataFile.referenced_data_file for version 2, and equality ids as ints, all of this can go.
_FIELDS = {field.name: field for field in DATA_FILE_TYPE[3].fields}
_SUMMARY_LOWER, _SUMMARY_UPPER = 2, 3
# Optional since format version 2, but PyIceberg knows it from version 3 on.
_REFERENCED_DATA_FILE = _FIELDS["referenced_data_file"]
# PyIceberg has them as longs, which the format has not, and Java cannot read.
_EQUALITY_IDS = _FIELDS["equality_ids"].model_copy(
    update={"field_type": ListType(element_id=136, element_type=IntegerType(), element_required=True)}
)


class _DeleteManifestWriter(ManifestWriterV2):
    """Writes delete files, whose entries :func:`read_entries` has read, with the data file that each belongs to.

    It overrides ``content``, ``new_writer`` and ``_meta`` of PyIceberg's writer, and uses its ``_output_file``,
    ``_spec`` and ``_schema``. When a release writes delete manifests, see whether they keep ``referenced_data_file``,
    and use that.
    """

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        return AvroOutputFile[ManifestEntry](
            output_file=self._output_file,
            file_schema=self._entry_schema(2, _REFERENCED_DATA_FILE),
            record_schema=self._entry_schema(3),
            schema_name="manifest_entry",
            metadata=self._meta,
        )

    def _entry_schema(self, version: TableVersion, *more: NestedField) -> Schema:
        known = data_file_with_partition(self._spec.partition_type(self._schema), version).fields
        fields = (_EQUALITY_IDS if field.field_id == _EQUALITY_IDS.field_id else field for field in known)
        return manifest_entry_schema_with_data_file(version, StructType(*fields, *more))


class _EntriesFile(AvroFile[ManifestEntry]):
    """Reads doubles as they are there: PyIceberg's compiled decoder rounds them to 32 bits.

    A partition alone may have some. When a release's decoder is right (the tests of doubles pass without), ``AvroFile``
    does.
    """

    def __enter__(self) -> AvroFile[ManifestEntry]:
        """Open the file, with its readers."""
        super().__enter__()
        self.reader = _exact(self.reader)
        return self


class _ExactDoubleReader(DoubleReader):
    def read(self, decoder: BinaryDecoder) -> float:
        return float(struct.unpack("<d", decoder.read(8))[0])


def _exact(reader: Reader) -> Reader:
    """Take readers of doubles for exact ones, in structs within structs."""
    if isinstance(reader, DoubleReader):
        return _ExactDoubleReader()  # type: ignore[no-untyped-call]
    if isinstance(reader, OptionReader):
        return OptionReader(_exact(reader.option))
    if isinstance(reader, StructReader):
        fields = tuple((place, _exact(each)) for place, each in reader.field_readers)
        return StructReader(fields, reader.create_struct, reader.struct)
    return reader


class _OptionalFields(PartitionSpec):
    """A spec whose partitions may be NULL, as in Iceberg: PyIceberg's may not where the column may not.

    So it could not write the partitions of a dropped field, which are NULL whatever the column is. When a release makes
    partition fields optional, this can go.
    """

    def partition_type(self, schema: Schema) -> StructType:
        fields = super().partition_type(schema).fields
        return StructType(*(field.model_copy(update={"required": False}) for field in fields))


def read_entries(manifest: ManifestFile, io: FileIO) -> list[ManifestEntry]:
    """Read the live entries of a manifest, with everything that a version 2 table may keep of them."""
    file = _EntriesFile(
        io.new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[3],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    )
    with file:
        # As ManifestFile.fetch_manifest_entry does: when a release moves it, it will show how there.
        return [
            _inherit_from_manifest(entry, manifest) for entry in file if entry.status != ManifestEntryStatus.DELETED
        ]


def read_in_threads(read: Callable[[ManifestFile], _T], manifests: Iterable[ManifestFile]) -> list[_T]:
    """Read manifests in the threads that PyIceberg reads its own in, as many as its ``max-workers`` says.

    When a release moves ``ExecutorFactory``, a pool of a few threads does.
    """
    return list(ExecutorFactory.get_or_create().map(read, manifests))


def referenced_data_file(delete_file: DataFile) -> str | None:
    """Tell which data file a delete file says it belongs to."""
    return cast("str | None", _field_of(delete_file, _REFERENCED_DATA_FILE.name))


def content_offset(delete_file: DataFile) -> int | None:
    """Tell where in its file a deletion vector begins; None of other deletes."""
    return cast("int | None", _field_of(delete_file, "content_offset"))


def _field_of(file: DataFile, name: str) -> object:
    place = list(_FIELDS).index(name)
    return file[place] if place < len(file) else None


def write_entries(
    entries: Iterable[ManifestEntry],
    output: OutputFile,
    *,
    metadata: TableMetadata,
    spec_id: int,
    snapshot_id: int,
    content: ManifestContent = ManifestContent.DATA,
) -> ManifestFile:
    """Write a manifest."""
    spec = _OptionalFields.model_validate(metadata.specs()[spec_id].model_dump())
    # A manifest of an old spec keeps its partition values, although a column they were made from may be dropped since.
    needed = {field.source_id for field in spec.fields}
    newest_first = [metadata.schema(), *sorted(metadata.schemas, key=lambda each: each.schema_id, reverse=True)]
    schema = next((each for each in newest_first if needed <= set(each.field_ids)), metadata.schema())
    codec = avro_codec(metadata)
    writer: ManifestWriter
    if content == ManifestContent.DELETES:
        writer = _DeleteManifestWriter(spec, schema, output, snapshot_id, codec)
    else:
        writer = write_manifest(metadata.format_version, spec, schema, output, snapshot_id, codec)
    with writer:
        for entry in entries:
            writer.add_entry(entry)
    manifest = writer.to_manifest_file()
    for summary, field in zip(manifest.partitions or [], spec.partition_type(schema).fields, strict=False):
        if isinstance(field.field_type, FloatType | DoubleType):
            _enclose_zeros(summary, field.field_type)
    return manifest


def _enclose_zeros(summary: PartitionFieldSummary, kind: FloatType | DoubleType) -> None:
    """Widen zero bounds of partitions to both zeros: for PyIceberg, unlike Iceberg, -0.0 is no less than 0.0.

    A summary is a record, whose values are written by place.
    """
    negative, positive = to_bytes(kind, -0.0), to_bytes(kind, 0.0)
    if summary.lower_bound == positive:
        summary[_SUMMARY_LOWER] = negative
    if summary.upper_bound == negative:
        summary[_SUMMARY_UPPER] = positive


def write_list(
    manifests: Sequence[ManifestFile], output: OutputFile, *, metadata: TableMetadata, snapshot: Snapshot
) -> None:
    """Write a snapshot's manifest list."""
    with write_manifest_list(
        format_version=metadata.format_version,
        output_file=output,
        snapshot_id=snapshot.snapshot_id,
        parent_snapshot_id=snapshot.parent_snapshot_id,
        sequence_number=snapshot.sequence_number,
        avro_compression=avro_codec(metadata),
    ) as writer:
        # The writer gives a new manifest its sequence number in place, which the next attempt's must not have.
        writer.add_manifests(copy.deepcopy(list(manifests)))


def avro_codec(metadata: TableMetadata) -> AvroCompressionCodec:
    """Find the compression of manifests."""
    codec = metadata.properties.get(_AVRO_CODEC, "gzip").lower()
    # PyIceberg's writer knows all of Iceberg's names but this one.
    known = "null" if codec == "uncompressed" else codec
    if CODEC_MAPPING_ICEBERG_TO_AVRO.get(known, known) not in KNOWN_CODECS:
        raise InvalidInputError(f"Cannot set {_AVRO_CODEC} to '{codec}', because PyIceberg has no such codec")
    return cast(AvroCompressionCodec, known)


def list_files(io: FileIO, root: str) -> Iterator[str]:
    """List the files under a location."""
    scheme, netloc, path = PyArrowFileIO.parse_location(root, io.properties)
    if isinstance(io, PyArrowFileIO):
        filesystem = cast(Any, io.fs_by_scheme)(scheme, netloc)
        selector = pa_fs.FileSelector(path, recursive=True, allow_not_found=True)
        for info in filesystem.get_file_info(selector):
            if info.type == pa_fs.FileType.File:
                yield root + info.path[len(path) :]
    elif isinstance(io, FsspecFileIO):
        found = cast(Any, io.get_fs(scheme))
        for name in found.find(root) if found.exists(root) else ():
            yield root + name[name.index(path) + len(path) :]
    else:
        raise InvalidInputError(
            f"Cannot list the files under {root}, because a FileIO of the kind {type(io).__name__} lists none"
        )


def arrow_transform(transform: Transform[Any, Any], source_type: Any) -> Callable[[Any], Any] | None:
    """Find a transform over Arrow arrays, or nothing where the optional package pyiceberg-core is missing."""
    try:
        found: Callable[[Any], Any] = transform.pyarrow_transform(source_type)
    except (NotInstalledError, NotImplementedError):
        return None
    if isinstance(source_type, BinaryType):
        # pyiceberg-core 0.10 truncates binary, and not what has large offsets; rows come in batches that fit either.
        return lambda column: found(column.cast(pa.binary()))
    return found


def partition_path(spec: PartitionSpec, partition: Record, schema: Schema) -> PartitionKey:
    """Make a key whose path is that of a partition's values as a manifest has them."""
    return _RecordedPartition([], spec, schema, partition)


@dataclass(frozen=True)
class _RecordedPartition(PartitionKey):
    """A partition whose values are transformed already; PyIceberg's own refuses two transforms of one column.

    A location provider takes a key and asks it for ``to_path()`` only, which is made of ``partition``. When a release
    takes a record, or ``PartitionKey`` two transforms of a column, this can go.
    """

    record: Record

    @cached_property
    def partition(self) -> Record:
        return self.record
