"""All private names of PyIceberg that we use: only this module can break with a new release.

In this order: catalog configuration, properties that choose storage, and the commit request; filter evaluators;
manifests and manifest lists; Arrow schemas, column names in files, transforms and partition paths.

Tested with PyIceberg 0.12. For a new release, run the tests: a moved function fails on import, a moved method in them.
Work-arounds say when they can be removed. ``tests/test_private_names.py`` keeps the other modules to public names.
"""

from __future__ import annotations

import copy
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from operator import methodcaller
from typing import Any, NamedTuple, TypeVar, cast

import pyarrow as pa
from pyiceberg.avro.codecs import CODEC_MAPPING_ICEBERG_TO_AVRO, KNOWN_CODECS, AvroCompressionCodec
from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.file import AvroFile, AvroOutputFile
from pyiceberg.avro.reader import DoubleReader, OptionReader, Reader, StructReader
from pyiceberg.conversions import to_bytes
from pyiceberg.exceptions import CommitFailedException, NotInstalledError
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
from pyiceberg.io.pyarrow import _check_pyarrow_schema_compatible, schema_to_pyarrow
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_ENTRY_SCHEMAS,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestListWriterV2,
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
from pyiceberg.serializers import Compressor
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    SetSnapshotRefUpdate,
    ValidatableTableRequirement,
)
from pyiceberg.transforms import Transform
from pyiceberg.typedef import IcebergBaseModel, Record, RecursiveDict, TableVersion
from pyiceberg.types import (
    BinaryType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    NestedField,
    StructType,
    TimestampNanoType,
    TimestamptzNanoType,
)
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


_NEWEST: TableVersion = 3
"""The newest format version."""
ROW_IDS_SINCE = 3
"""The format version from which on rows have ids."""
USE_SPARK = "use the Spark engine (iceberg_zorder.spark.rewrite_data_files)"
"""What to do where PyIceberg is the limit."""


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
    ref = table.metadata.refs.get(branch)
    # An update without the branch's retention settings would remove them.
    settings = ref.model_dump(by_alias=True) if ref else {"type": SnapshotRefType.BRANCH}
    update = settings | {"ref-name": branch, "snapshot-id": new_head}
    required = {"ref": branch, "snapshot-id": head}
    requirements: list[Any] = [
        AssertTableUUID(uuid=table.metadata.table_uuid),
        AssertRefSnapshotId.model_validate(required),
    ]
    if before and not isinstance(table.catalog, RestCatalog):
        is_newest = table.format_version == _NEWEST
        number = table.metadata.next_sequence_number() if is_newest else None
        requirements.append(_AssertSameBase(version=table.format_version, number=number))
    with writing_metadata(table):
        # The last step of a Transaction, which builds the updates itself.
        table._do_commit(
            updates=(*before, SetSnapshotRefUpdate.model_validate(update)), requirements=tuple(requirements)
        )


class _AssertSameBase(ValidatableTableRequirement):
    """What PyIceberg does not look at where it applies commits itself: the table's format version and sequence number.

    PyIceberg checks sequence numbers in version 2 only; there, ``number`` is None. Remove this once a release checks
    both in every version.
    """

    type: str = "assert-same-base"
    version: int
    number: int | None

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        if base_metadata is None or base_metadata.format_version != self.version:
            raise CommitFailedException("Requirement failed: the table has another format version")
        if self.number is not None and base_metadata.next_sequence_number() != self.number:
            raise CommitFailedException("Requirement failed: another branch has a new snapshot")


_is_writing: ContextVar[bool] = ContextVar("is_writing", default=False)
_refused_json = TableMetadataV3.model_dump_json


def _metadata_json(metadata: TableMetadataV3, *arguments: Any, **named: Any) -> str:
    written = IcebergBaseModel.model_dump_json if _is_writing.get() else _refused_json
    return written(metadata, *arguments, **named)


# PyIceberg writes no metadata of format version 3, although its classes hold all of it; remove this once it does.
TableMetadataV3.model_dump_json = _metadata_json  # type: ignore[method-assign,assignment]


def dropped_metadata(table: Table) -> str | None:
    """Return a part of a table's metadata that PyIceberg would not write again; None if it would write all.

    Before format version 3 it writes all; a REST server keeps all.
    """
    if table.format_version < ROW_IDS_SINCE or isinstance(table.catalog, RestCatalog):
        return None
    with table.io.new_input(table.metadata_location).open() as stream:
        found = json.loads(Compressor.get_compressor(table.metadata_location).stream_decompressor(stream).read())
    return next(_lost(found, json.loads(IcebergBaseModel.model_dump_json(table.metadata)), ""), None)


def check_kept(table: Table) -> None:
    """Refuse a table of whose metadata a commit would drop a part."""
    if dropped := dropped_metadata(table):
        raise InvalidInputError(
            f"Cannot change {'.'.join(table.name())}, because PyIceberg would drop {dropped} from its metadata: "
            f"{USE_SPARK}"
        )


@contextmanager
def writing_metadata(table: Table) -> Iterator[None]:
    """Let commits in the block write metadata of format version 3."""
    check_kept(table)
    token = _is_writing.set(True)
    try:
        yield
    finally:
        _is_writing.reset(token)


def _lost(found: object, kept: object, path: str) -> Iterator[str]:
    """Yield the paths of values that metadata as PyIceberg writes it lacks."""
    if isinstance(found, dict):
        for key, value in found.items():
            if isinstance(kept, dict) and key in kept:
                yield from _lost(value, kept[key], f"{path}{key}.")
            # Without a snapshot, the current one is -1, or is left out.
            elif value not in (None, -1, [], {}):
                yield f"{path}{key}"
    elif isinstance(found, list) and isinstance(kept, list) and len(found) == len(kept):
        for mine, other in zip(found, kept, strict=True):
            yield from _lost(mine, other, path)
    elif isinstance(found, list) or isinstance(kept, list):
        yield path.rstrip(".")


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
_FIELDS = {field.name: field for field in DATA_FILE_TYPE[_NEWEST].fields}
_PLACES = {name: place for place, name in enumerate(_FIELDS)}
# The place of a manifest's first row id in its record.
_MANIFEST_ROW_ID = len(MANIFEST_LIST_FILE_SCHEMAS[_NEWEST].fields) - 1
_SUMMARY_LOWER, _SUMMARY_UPPER = 2, 3
# Optional since format version 2, but PyIceberg writes it only from version 3.
_REFERENCED_DATA_FILE = _FIELDS["referenced_data_file"]
# PyIceberg writes them as longs, against the format; Java cannot read them.
_EQUALITY_IDS = _FIELDS["equality_ids"].model_copy(
    update={"field_type": ListType(element_id=136, element_type=IntegerType(), element_required=True)}
)


class _ManifestWriter(ManifestWriterV2):
    """Writes manifests from entries of :func:`read_entries`: of format version 3, or delete manifests of version 2.

    It overrides ``content``, ``version``, ``new_writer`` and ``_meta`` of PyIceberg's writer, and uses its
    ``_output_file``, ``_spec`` and ``_schema``. Use PyIceberg's own once they write version 3, and keep
    ``referenced_data_file`` in version 2.
    """

    def __init__(self, version: TableVersion, content: ManifestContent, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._version = version
        self._content = content

    def content(self) -> ManifestContent:
        return self._content

    @property
    def version(self) -> TableVersion:
        return self._version

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes" if self._content == ManifestContent.DELETES else "data"}

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        more = () if self._version == _NEWEST else (_REFERENCED_DATA_FILE,)
        return AvroOutputFile[ManifestEntry](
            output_file=self._output_file,
            file_schema=self._entry_schema(self._version, *more),
            record_schema=self._entry_schema(_NEWEST),
            schema_name="manifest_entry",
            metadata=self._meta,
        )

    def _entry_schema(self, version: TableVersion, *more: NestedField) -> Schema:
        known = data_file_with_partition(self._spec.partition_type(self._schema), version).fields
        fields = (_EQUALITY_IDS if field.field_id == _EQUALITY_IDS.field_id else field for field in known)
        return manifest_entry_schema_with_data_file(version, StructType(*fields, *more))


class _ManifestListWriter(ManifestListWriterV2):
    """Writes manifest lists of format version 3, and gives row ids to data manifests that have none.

    Use PyIceberg's own once it has one.
    """

    def __init__(self, output: OutputFile, snapshot: Snapshot, codec: AvroCompressionCodec, first_row_id: int) -> None:
        numbers = snapshot.snapshot_id, snapshot.parent_snapshot_id, snapshot.sequence_number or 0
        super().__init__(output, *numbers, codec)
        self._meta |= {"format-version": str(_NEWEST), "first-row-id": str(first_row_id)}
        self.next_row_id = first_row_id

    def __enter__(self) -> _ManifestListWriter:
        schema = MANIFEST_LIST_FILE_SCHEMAS[_NEWEST]
        self._writer = AvroOutputFile[ManifestFile](self._output_file, schema, "manifest_file", schema, self._meta)
        self._writer.__enter__()
        return self

    def prepare_manifest(self, manifest_file: ManifestFile) -> ManifestFile:
        prepared = super().prepare_manifest(manifest_file)
        values = [prepared[place] for place in range(len(prepared))]
        row_id = _row_id_of(prepared)
        if row_id is None and prepared.content == ManifestContent.DATA:
            # For all rows, as Iceberg's writers do: ids that files store may be NULL.
            row_id = self.next_row_id
            self.next_row_id += (prepared.added_rows_count or 0) + (prepared.existing_rows_count or 0)
        return ManifestFile(*values[:_MANIFEST_ROW_ID], row_id)


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


def manifests_of(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """Read a snapshot's manifest list, with the row ids of format version 3, which PyIceberg's own reader drops."""
    with AvroFile[ManifestFile](
        io.new_input(snapshot.manifest_list),
        MANIFEST_LIST_FILE_SCHEMAS[_NEWEST],
        read_types={-1: ManifestFile, 508: PartitionFieldSummary},
        read_enums={517: ManifestContent},
    ) as file:
        return list(file)


ManifestKey = tuple[str, int | None]


def manifest_key(manifest: ManifestFile) -> ManifestKey:
    """Return what a manifest's entries depend on: its path, and the row ids that a later snapshot may have given it."""
    return manifest.manifest_path, _row_id_of(manifest)


def _row_id_of(manifest: ManifestFile) -> int | None:
    return manifest[_MANIFEST_ROW_ID] if len(manifest) > _MANIFEST_ROW_ID else None


def read_entries(manifest: ManifestFile, io: FileIO) -> list[ManifestEntry]:
    """Read the live entries of a manifest of :func:`manifests_of`, with all fields of the newest format version."""
    file = _EntriesFile(
        io.new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[_NEWEST],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    )
    with file:
        # As in ManifestFile.fetch_manifest_entry; see there if a release moves it.
        entries = [
            _inherit_from_manifest(entry, manifest) for entry in file if entry.status != ManifestEntryStatus.DELETED
        ]
    row_id = _row_id_of(manifest)
    if row_id is not None:
        # "First Row ID Inheritance" of the specification: removed files use up no ids.
        for entry in entries:
            if first_row_id(entry.data_file) is None:
                entry.data_file[_PLACES["first_row_id"]] = row_id
                row_id += entry.data_file.record_count
    return entries


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


def content_size(delete_file: DataFile) -> int | None:
    """Return the bytes of a deletion vector in its file; None for other deletes."""
    return cast("int | None", _field_of(delete_file, "content_size_in_bytes"))


def first_row_id(file: DataFile) -> int | None:
    """Return the id of a data file's first row, for rows without an id of their own; None if they have none."""
    return cast("int | None", _field_of(file, "first_row_id"))


def with_own_size(file: DataFile) -> DataFile:
    """Return a file's entry with the size of its content alone: a deletion vector may share its file with others."""
    size = content_size(file)
    if size is None:
        return file
    found = DataFile(*(file[place] for place in range(len(file))))
    found[_PLACES["file_size_in_bytes"]] = size
    found.spec_id = file.spec_id
    return found


def new_file(**arguments: Any) -> DataFile:
    """Return an entry with all fields that a file may have in the newest format version."""
    return DataFile.from_args(_table_format_version=_NEWEST, **arguments)


def _field_of(file: DataFile, name: str) -> object:
    return file[_PLACES[name]] if _PLACES[name] < len(file) else None


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
    version, of = metadata.format_version, (spec, schema, output, snapshot_id, codec)
    is_plain = version < _NEWEST and content == ManifestContent.DATA
    writer = write_manifest(version, *of) if is_plain else _ManifestWriter(version, content, *of)
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
) -> Snapshot:
    """Write a snapshot's manifest list; return the snapshot, from format version 3 with the row ids that it assigns."""
    codec = avro_codec(metadata)
    # The writer sets the sequence number of new manifests in place, and the next attempt needs another one.
    copies = copy.deepcopy(list(manifests))
    if isinstance(metadata, TableMetadataV3):
        first = metadata.next_row_id or 0
        with _ManifestListWriter(output, snapshot, codec, first) as newest:
            newest.add_manifests(copies)
        return snapshot.model_copy(update={"first_row_id": first, "added_rows": newest.next_row_id - first})
    with write_manifest_list(
        format_version=metadata.format_version,
        output_file=output,
        snapshot_id=snapshot.snapshot_id,
        parent_snapshot_id=snapshot.parent_snapshot_id,
        sequence_number=snapshot.sequence_number,
        avro_compression=codec,
    ) as writer:
        writer.add_manifests(copies)
    return snapshot


def avro_codec(metadata: TableMetadata) -> AvroCompressionCodec:
    """Return the compression codec of manifests."""
    codec = metadata.properties.get(_AVRO_CODEC, "gzip").lower()
    # The only one of Iceberg's names that PyIceberg's writer does not know.
    known = "null" if codec == "uncompressed" else codec
    if CODEC_MAPPING_ICEBERG_TO_AVRO.get(known, known) not in KNOWN_CODECS:
        raise InvalidInputError(f"Cannot set {_AVRO_CODEC} to '{codec}', because PyIceberg has no such codec")
    return cast(AvroCompressionCodec, known)


def arrow_transform(transform: Transform[Any, Any], source_type: Any) -> Callable[[Any], Any] | None:
    """Return a transform of Arrow arrays; None without the optional package pyiceberg-core.

    None of nanoseconds, too: pyiceberg-core 0.10 cuts those before 1970 to the microsecond above, and knows no hours.
    """
    if isinstance(source_type, TimestampNanoType | TimestamptzNanoType):
        return None
    try:
        found: Callable[[Any], Any] = transform.pyarrow_transform(source_type)
    except (NotInstalledError, NotImplementedError):
        return None
    if isinstance(source_type, BinaryType):
        # pyiceberg-core 0.10 truncates binary but not large_binary; batches are small enough for both.
        return lambda column: found(column.cast(pa.binary()))
    return found


def check_arrow_schema(table: Table, schema: pa.Schema) -> None:
    """Refuse rows of another schema, as :meth:`pyiceberg.table.Table.append` does; raises InvalidInputError."""
    try:
        # It also prints what it raises.
        with redirect_stdout(StringIO()):
            _check_pyarrow_schema_compatible(table.schema(), schema, format_version=table.format_version)
    except Exception as error:
        raise InvalidInputError(
            f"Cannot append to {'.'.join(table.name())}, because of the schema of the rows: {error}"
        ) from error


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
