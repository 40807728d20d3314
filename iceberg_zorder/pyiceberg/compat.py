"""All private names of PyIceberg that we use: only this module can break with a new release.

In this order: catalog configuration, properties that choose storage, and the commit request; filter evaluators;
manifests and manifest lists; Arrow schemas, column names in files, transforms and partition paths.

Tested with PyIceberg 0.12. For a new release, run the tests: a moved function fails on import, a moved method in them.
Work-arounds say when they can be removed. ``tests/test_private_names.py`` keeps the other modules to public names.
"""

from __future__ import annotations

import copy
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import methodcaller
from typing import Any, NamedTuple, TypeVar, cast

import pyarrow as pa
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
from pyiceberg.io.pyarrow import schema_to_pyarrow
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
from requests import Response

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.catalogs import masked, secrets_of

__all__ = [
    "CatalogType",
    "MappedField",
    "NameMapping",
    "arrow_transform",
    "configured",
    "infer_catalog_type",
    "merge_config",
    "partition_path",
    "sanitize_column_names",
    "schema_to_pyarrow",
    "submit",
]


@contextmanager
def _reading_the_configuration() -> Iterator[None]:
    """Turn exceptions other than ImportError into an InvalidInputError about PyIceberg's configuration.

    Its parser raises exceptions of a package that this project does not depend on.
    """
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise InvalidInputError(f"Cannot read the configuration of PyIceberg, because {error}") from error


with _reading_the_configuration():
    # Importing PyIceberg's module reads the configuration.
    from pyiceberg import catalog as catalogs
    from pyiceberg.catalog import Catalog, CatalogType, infer_catalog_type
    from pyiceberg.catalog.rest import RestCatalog


class Configured(NamedTuple):
    """A catalog's entry in PyIceberg's configuration: its properties, None if unknown, and all known names."""

    name: str
    properties: RecursiveDict | None
    known: list[str]


def configured(name: str | None) -> Configured:
    """Read ``.pyiceberg.yaml`` and the ``PYICEBERG_CATALOG__`` variables, without a cache."""
    with _reading_the_configuration():
        config = Config()
        chosen = config.get_default_catalog_name() if name is None else name
        return Configured(chosen, config.get_catalog_config(chosen), config.get_known_catalogs())


_LOCATION_PROVIDER = "write.py-location-provider.impl"
_CHOOSING = re.compile(
    rf"py-io-impl|{re.escape(_LOCATION_PROVIDER)}|uri|token|auth\.manager|warehouse|DEFAULT_SCHEME|DEFAULT_NETLOC"
    r"|(s3|gcs|adls|client|hdfs|hf|header)\..*",
    re.DOTALL,
)
"""Properties by which PyIceberg's FileIOs and location providers choose code, servers, credentials or storage."""


def _check_choices(where: str | None, properties: Mapping[str, str], trusted: Mapping[str, Any]) -> None:
    """Refuse a table's properties that would replace trusted ones."""
    chosen = (name for name, value in properties.items() if _CHOOSING.fullmatch(name) and trusted.get(name) != value)
    if name := min(chosen, default=None):
        # The value may be a secret.
        raise InvalidInputError(
            f"Cannot use the table of {where}, because its property {name} would choose the code, the server or the "
            "credentials for its files, which only the catalog may: unset the property, or set the same value in the "
            "catalog's properties"
        )


def _without_sent(text: str, response: Response) -> str:
    """Mask the secret headers of a response's request: an exchanged token stands in no configuration."""
    return masked(text, secrets_of({"header": response.request.headers}))


def _mask_error(response: Response, *_: object, **__: object) -> None:
    if not response.ok:
        response._content = _without_sent(response.content.decode(errors="replace"), response).encode()


def load_catalog(name: str, **properties: str) -> Catalog:
    """Load a catalog that refuses tables with such properties before PyIceberg follows their properties.

    It replaces methods of the catalog in which PyIceberg merges a table's properties with those for its FileIO. A REST
    catalog's errors do not repeat secrets that were sent.
    """
    try:
        catalog = catalogs.load_catalog(name, **properties)
    except Exception as error:
        # PyIceberg's constructor has sent requests already.
        if isinstance(response := getattr(error.__cause__, "response", None), Response):
            error.args = tuple(_without_sent(str(each), response) for each in error.args)
        raise
    replaced = vars(catalog)
    if isinstance(catalog, RestCatalog):
        catalog._session.hooks["response"].append(_mask_error)
        to_table, credentials = catalog._response_to_table, catalog._resolve_storage_credentials

        def checked_table(identifier: tuple[str, ...], response: Any) -> Table:
            where, own = response.metadata_location, response.metadata.properties
            vended = {**response.config, **credentials(response.storage_credentials, where)}
            # PyIceberg takes the location provider from the metadata, whatever is vended.
            kept = {key: value for key, value in own.items() if key not in vended or key == _LOCATION_PROVIDER}
            _check_choices(where, kept, catalog.properties)
            return to_table(identifier, response)

        replaced["_response_to_table"] = checked_table
    else:
        load_file_io = catalog._load_file_io

        def checked_io(properties: Mapping[str, str] = {}, location: str | None = None) -> FileIO:
            _check_choices(location, properties, catalog.properties)
            return load_file_io(dict(properties), location)

        replaced["_load_file_io"] = checked_io
    return catalog


def check_loaded(table: Table) -> None:
    """Refuse a table with such properties if :func:`load_catalog` did not load its catalog, but the caller."""
    if not vars(table.catalog).keys() & {"_response_to_table", "_load_file_io"}:
        io, own = table.io.properties, table.properties
        followed = {name: value for name, value in own.items() if io.get(name, value) == value}
        _check_choices(table.metadata_location, followed, {**table.catalog.properties, **table.config})


def submit(table: Table, snapshot: Snapshot, branch: str) -> None:
    """Commit a new snapshot as the head of a branch, and update the table object."""
    move_branch(table, branch, snapshot.parent_snapshot_id, snapshot.snapshot_id, AddSnapshotUpdate(snapshot=snapshot))


def move_branch(table: Table, branch: str, head: int | None, new_head: int, *before: AddSnapshotUpdate) -> None:
    """Move a branch to another snapshot, if its head is still ``head``."""
    ref = table.metadata.refs[branch]
    # An update without the branch's retention settings would remove them.
    update = ref.model_dump(by_alias=True) | {"ref-name": branch, "snapshot-id": new_head}
    required = {"ref": branch, "snapshot-id": head}
    # The last step of a Transaction, which builds the updates itself.
    table._do_commit(
        updates=(*before, SetSnapshotRefUpdate.model_validate(update)),
        requirements=(AssertTableUUID(uuid=table.metadata.table_uuid), AssertRefSnapshotId.model_validate(required)),
    )


def _projected(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> BooleanExpression:
    """Project a row filter to partitions; it matches everything if a date leaves PyIceberg's range."""
    try:
        return inclusive_projection(schema, spec, case_sensitive)(row_filter)
    except OverflowError:
        return AlwaysTrue()


def manifest_may_match(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> Callable[[ManifestFile], bool]:
    """Return a test whether a spec's manifest may hold matching rows, by its partition summaries."""
    projected = _projected(spec, schema, row_filter, case_sensitive)
    found: Callable[[ManifestFile], bool] = manifest_evaluator(spec, schema, projected, case_sensitive)
    return found


def partition_may_match(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> Callable[[DataFile], bool]:
    """Return a test whether a spec's file may hold matching rows, by its partition."""
    projected = _projected(spec, schema, row_filter, case_sensitive)
    if isinstance(projected, AlwaysTrue):
        return lambda _: True
    bound = _ExpressionEvaluator(Schema(*spec.partition_type(schema).fields), projected, case_sensitive).bound
    evaluate = _evaluation(bound)
    return lambda file: evaluate(_ExpressionEvaluationVisitor(file.partition))


def file_may_match(schema: Schema, row_filter: BooleanExpression, case_sensitive: bool) -> Callable[[DataFile], bool]:
    """Return a test whether a file may hold matching rows, by its metrics; empty files match only without a filter."""
    if isinstance(row_filter, AlwaysTrue):
        return lambda _: True
    evaluate = _evaluation(_InclusiveMetricsEvaluator(schema, row_filter, case_sensitive).expr)

    def may_match(file: DataFile) -> bool:
        # A negative count means unknown.
        rows = file.record_count
        try:
            return rows < 0 or (rows > 0 and evaluate(_InclusiveMetricsEvaluationVisitor(file)))
        except (ValueError, struct.error):
            # Bounds that are no values rule nothing out.
            return True

    return may_match


def filtered_fields(schema: Schema, row_filter: BooleanExpression, case_sensitive: bool) -> list[int]:
    """Return the ids of the fields in a filter, ascending."""
    return sorted(extract_field_ids(bind(schema, row_filter, case_sensitive)))


_Evaluation = Callable[[BoundBooleanExpressionVisitor[bool]], bool]


def _evaluation(bound: BooleanExpression) -> _Evaluation:
    """Compile a bound expression: the returned function evaluates it with a visitor, without another traversal."""
    found: _Evaluation = visit(bound, _Evaluations())
    return found


def _asked(name: str) -> Callable[..., _Evaluation]:
    return lambda _, **operands: methodcaller(name, *operands.values())


# One method for each of the visitor's methods; it returns a call of the same method on another visitor.
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
_File = TypeVar("_File", ManifestFile, DataFile)
_AVRO_CODEC = "write.avro.compression-codec"
# The fields of a DataFile record in the newest format, in their order; PyIceberg has no property for some of them.
_FIELDS = {field.name: field for field in DATA_FILE_TYPE[3].fields}
_SUMMARY_LOWER, _SUMMARY_UPPER = 2, 3
# Optional since format version 2, but PyIceberg writes it only from version 3.
_REFERENCED_DATA_FILE = _FIELDS["referenced_data_file"]
# PyIceberg writes them as longs, against the format; Java cannot read them.
_EQUALITY_IDS = _FIELDS["equality_ids"].model_copy(
    update={"field_type": ListType(element_id=136, element_type=IntegerType(), element_required=True)}
)


class _DeleteManifestWriter(ManifestWriterV2):
    """Writes delete manifests from entries of :func:`read_entries`, keeping ``referenced_data_file``.

    It overrides ``content``, ``new_writer`` and ``_meta`` of PyIceberg's writer, and uses its ``_output_file``,
    ``_spec`` and ``_schema``. Use PyIceberg's own delete manifests once they keep ``referenced_data_file``.
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
    """Reads doubles exactly: PyIceberg's compiled decoder rounds them to 32 bits.

    Only partition values are doubles. Use ``AvroFile`` once the tests of doubles pass with it.
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
    """Replace readers of doubles by exact ones, also in nested structs."""
    if isinstance(reader, DoubleReader):
        return _ExactDoubleReader()  # type: ignore[no-untyped-call]
    if isinstance(reader, OptionReader):
        return OptionReader(_exact(reader.option))
    if isinstance(reader, StructReader):
        fields = tuple((place, _exact(each)) for place, each in reader.field_readers)
        return StructReader(fields, reader.create_struct, reader.struct)
    return reader


class _OptionalFields(PartitionSpec):
    """A spec whose partition values may be NULL, as in Iceberg; PyIceberg requires values for required columns.

    Partitions of a dropped field are NULL and could not be written otherwise. Remove this once a release makes
    partition fields optional.
    """

    def partition_type(self, schema: Schema) -> StructType:
        fields = super().partition_type(schema).fields
        return StructType(*(field.model_copy(update={"required": False}) for field in fields))


def read_entries(manifest: ManifestFile, io: FileIO) -> list[ManifestEntry]:
    """Read the live entries of a manifest, with all fields of format version 2."""
    file = _EntriesFile(
        io.new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[3],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    )
    with file:
        # As in ManifestFile.fetch_manifest_entry; see there if a release moves it.
        return [
            _inherit_from_manifest(entry, manifest) for entry in file if entry.status != ManifestEntryStatus.DELETED
        ]


def read_in_threads(read: Callable[[_File], _T], files: Iterable[_File]) -> list[_T]:
    """Read files in PyIceberg's thread pool, whose size is its ``max-workers``.

    If a release moves ``ExecutorFactory``, use a pool of a few threads.
    """
    return list(ExecutorFactory.get_or_create().map(read, files))


def referenced_data_file(delete_file: DataFile) -> str | None:
    """Return the data file that a delete file refers to, if recorded."""
    return cast("str | None", _field_of(delete_file, _REFERENCED_DATA_FILE.name))


def content_offset(delete_file: DataFile) -> int | None:
    """Return the offset of a deletion vector in its file; None for other deletes."""
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
    # A manifest of an old spec keeps its partition values, also if their source column was dropped.
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
    """Widen zero bounds of partitions to both zeros: in Iceberg, -0.0 is less than 0.0, in PyIceberg it is not."""
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
        # The writer sets the sequence number of new manifests in place, and the next attempt needs another one.
        writer.add_manifests(copy.deepcopy(list(manifests)))


def avro_codec(metadata: TableMetadata) -> AvroCompressionCodec:
    """Return the compression codec of manifests."""
    codec = metadata.properties.get(_AVRO_CODEC, "gzip").lower()
    # The only one of Iceberg's names that PyIceberg's writer does not know.
    known = "null" if codec == "uncompressed" else codec
    if CODEC_MAPPING_ICEBERG_TO_AVRO.get(known, known) not in KNOWN_CODECS:
        raise InvalidInputError(f"Cannot set {_AVRO_CODEC} to '{codec}', because PyIceberg has no such codec")
    return cast(AvroCompressionCodec, known)


def arrow_transform(transform: Transform[Any, Any], source_type: Any) -> Callable[[Any], Any] | None:
    """Return a transform of Arrow arrays; None without the optional package pyiceberg-core."""
    try:
        found: Callable[[Any], Any] = transform.pyarrow_transform(source_type)
    except (NotInstalledError, NotImplementedError):
        return None
    if isinstance(source_type, BinaryType):
        # pyiceberg-core 0.10 truncates binary but not large_binary; batches are small enough for both.
        return lambda column: found(column.cast(pa.binary()))
    return found


def partition_path(spec: PartitionSpec, partition: Record, schema: Schema) -> PartitionKey:
    """Return a partition key with the path of a manifest's partition values."""
    return _RecordedPartition([], spec, schema, partition)


@dataclass(frozen=True)
class _RecordedPartition(PartitionKey):
    """A partition key with transformed values; PyIceberg's own refuses two transforms of one column.

    Location providers only call ``to_path()``, which uses ``partition``. Remove this once a release accepts a record,
    or two transforms of a column.
    """

    record: Record

    @cached_property
    def partition(self) -> Record:
        return self.record
