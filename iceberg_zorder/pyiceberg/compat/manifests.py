"""Manifests and manifest lists, read and written with everything that Iceberg keeps in them.

PyIceberg (0.12) writes no delete manifests, drops from those it reads which data file a delete file belongs to, and
rounds doubles. Each class and name here says what to do when a release moves it.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

from pyiceberg.avro.codecs import CODEC_MAPPING_ICEBERG_TO_AVRO, KNOWN_CODECS, AvroCompressionCodec
from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.file import AvroFile, AvroOutputFile
from pyiceberg.avro.reader import DoubleReader, OptionReader, Reader, StructReader
from pyiceberg.conversions import to_bytes
from pyiceberg.io import FileIO, OutputFile
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
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import TableVersion
from pyiceberg.types import DoubleType, FloatType, IntegerType, ListType, NestedField, StructType
from pyiceberg.utils.concurrent import ExecutorFactory

from iceberg_zorder.errors import InvalidInputError

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
    schema = _schema_for(metadata, spec)
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


def _schema_for(metadata: TableMetadata, spec: PartitionSpec) -> Schema:
    """Return the newest schema that has all the columns a partition spec is made from.

    A manifest of an old spec keeps its partition values, although a column they were made from may be dropped since.
    """
    needed = {field.source_id for field in spec.fields}
    older = sorted(metadata.schemas, key=lambda schema: schema.schema_id, reverse=True)
    for schema in [metadata.schema(), *older]:
        if needed <= set(schema.field_ids):
            return schema
    return metadata.schema()
