package io.icebergzorder.spark.internals;

import io.icebergzorder.spark.internals.PhysicalTypes.Reading;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.io.IOUtil;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.parquet.ParquetSchemaUtil;
import org.apache.iceberg.shaded.org.apache.parquet.column.ColumnDescriptor;
import org.apache.iceberg.shaded.org.apache.parquet.format.FileMetaData;
import org.apache.iceberg.shaded.org.apache.parquet.format.Util;
import org.apache.iceberg.shaded.org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.iceberg.shaded.org.apache.parquet.schema.MessageType;
import org.apache.iceberg.shaded.org.apache.parquet.schema.PrimitiveType;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;

/**
 * Checks in Parquet footers whether Iceberg's readers in Spark read imported files correctly. A rewrite would make
 * wrong values permanent, for every engine.
 *
 * <p>It reads the footers of files whose manifest entry has no split offsets, which Iceberg's own writers always set.
 * If the table has a name mapping, which files without field ids need, it reads the footers of all its files. It skips
 * encrypted files.
 */
public final class PhysicalTypeCheck {
  private static final int FILES_PER_TASK = 16;
  private static final int TAIL_BYTES = 8; // the footer's length, and the magic number
  private static final int MAGIC = 0x31524150; // PAR1

  private PhysicalTypeCheck() {}

  private record Mismatch(String file, String column, String types, Reading reading) implements Serializable {}

  /** Checks footers in a Spark job. Turns vectorized reads off in the session if only the row reader is correct. */
  public static void check(RewriteSession session, Table table, Collection<DataFile> files) {
    Map<Integer, Integer> parents = TypeUtil.indexParents(table.schema().asStruct());
    files.forEach(file -> checkStructs(table, file, parents));
    boolean hasNameMapping = table.properties().containsKey(TableProperties.DEFAULT_NAME_MAPPING);
    List<String> locations =
        files.stream()
            .filter(file -> file.format() == FileFormat.PARQUET && file.keyMetadata() == null)
            .filter(file -> hasNameMapping || file.splitOffsets() == null)
            .map(DataFile::location)
            .distinct()
            .toList();
    if (locations.isEmpty()) {
      return;
    }
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.spark().sparkContext());
    String description = String.format(Locale.ROOT, "Reading the footers of %d files of %s", locations.size(), table.name());
    int tasks = (locations.size() + FILES_PER_TASK - 1) / FILES_PER_TASK;
    List<Mismatch> mismatches =
        session.describing(
            description,
            () -> context.parallelize(locations, tasks).mapPartitions(new Footers(SerializableTable.copyOf(table))).collect());
    List<Mismatch> unreadable =
        mismatches.stream()
            .filter(each -> each.reading == Reading.NONE)
            .sorted(Comparator.comparing(Mismatch::file).thenComparing(Mismatch::column))
            .toList();
    if (!unreadable.isEmpty()) {
      Mismatch first = unreadable.get(0);
      long others = unreadable.stream().map(Mismatch::file).distinct().count() - 1;
      throw new IllegalArgumentException(
          "Cannot rewrite data files of %s, because column %s of %s is %s%s. Exclude such files by where."
              .formatted(
                  table.name(),
                  first.column,
                  first.file,
                  first.types,
                  others == 0 ? "" : "; " + others + " more files have such columns"));
    }
    if (!mismatches.isEmpty()) {
      session.disableVectorizedReads();
    }
  }

  /** Iceberg takes fields that rows are partitioned by from the partition: of a struct with no others it loses whether it is NULL. */
  private static void checkStructs(Table table, DataFile file, Map<Integer, Integer> parents) {
    Set<Integer> nullIds = new HashSet<>();
    List<PartitionField> fields = table.specs().get(file.specId()).fields();
    for (int i = 0; i < fields.size(); i++) {
      if (fields.get(i).transform().isIdentity() && file.partition().get(i, Object.class) == null) {
        nullIds.add(fields.get(i).sourceId());
      }
    }
    for (int id : nullIds) {
      for (Integer parent = parents.get(id); parent != null; parent = parents.get(parent)) {
        Types.NestedField struct = table.schema().findField(parent);
        if (struct.isOptional() && leaves(struct.type()).allMatch(nullIds::contains)) {
          throw new IllegalArgumentException(
              ("Cannot rewrite data files of %s, because Iceberg's reader in Spark would read a NULL in column %s as a struct of NULLs:"
                      + " all fields of the struct are partition columns. Exclude %s by where, or rewrite it with PyIceberg.")
                  .formatted(table.name(), table.schema().findColumnName(parent), file.location()));
        }
      }
    }
  }

  private static Stream<Integer> leaves(Type type) {
    return TypeUtil.indexById(type.asStructType()).values().stream()
        .filter(each -> each.type().isPrimitiveType())
        .map(Types.NestedField::fieldId);
  }

  private static final class Footers implements FlatMapFunction<Iterator<String>, Mismatch> {
    private final Table table;

    Footers(Table table) {
      this.table = table;
    }

    @Override
    public Iterator<Mismatch> call(Iterator<String> locations) {
      List<Mismatch> found = new ArrayList<>();
      while (locations.hasNext()) {
        String location = locations.next();
        try {
          for (ColumnDescriptor column : withIds(readSchema(location)).getColumns()) {
            addIfMismatched(found, location, column.getPrimitiveType());
          }
        } catch (IOException | RuntimeException e) {
          // Sampling reports files that cannot be read, and fails their file group only.
        }
      }
      return found.iterator();
    }

    private MessageType readSchema(String location) throws IOException {
      var file = table.io().newInputFile(location);
      try (SeekableInputStream stream = file.newStream()) {
        if (file.getLength() < 2 * TAIL_BYTES) {
          throw new IOException("too short for a footer");
        }
        ByteBuffer tail = ByteBuffer.wrap(read(stream, file.getLength() - TAIL_BYTES, TAIL_BYTES)).order(ByteOrder.LITTLE_ENDIAN);
        int length = tail.getInt();
        if (tail.getInt() != MAGIC || length <= 0 || length > file.getLength() - TAIL_BYTES) {
          throw new IOException("no footer, or an encrypted one");
        }
        byte[] footer = read(stream, file.getLength() - TAIL_BYTES - length, length);
        FileMetaData metadata = Util.readFileMetaData(new ByteArrayInputStream(footer), true);
        return new ParquetMetadataConverter().fromParquetMetadata(metadata).getFileMetaData().getSchema();
      }
    }

    private static byte[] read(SeekableInputStream stream, long position, int length) throws IOException {
      byte[] bytes = new byte[length];
      stream.seek(position);
      IOUtil.readFully(stream, bytes, 0, length);
      return bytes;
    }

    /** Assigns field ids as Iceberg's readers do: by the name mapping, else by position. */
    private MessageType withIds(MessageType schema) {
      if (ParquetSchemaUtil.hasIds(schema)) {
        return schema;
      }
      String mapping = table.properties().get(TableProperties.DEFAULT_NAME_MAPPING);
      return mapping == null
          ? ParquetSchemaUtil.addFallbackIds(schema)
          : ParquetSchemaUtil.applyNameMapping(schema, NameMappingParser.fromJson(mapping));
    }

    private void addIfMismatched(List<Mismatch> found, String location, PrimitiveType column) {
      if (column.getId() == null) {
        return;
      }
      int id = column.getId().intValue();
      Type type = table.schema().findType(id);
      Reading reading = type != null && type.isPrimitiveType() ? PhysicalTypes.of(type.asPrimitiveType(), column) : Reading.ANY;
      if (reading != Reading.ANY) {
        String logical = column.getLogicalTypeAnnotation() == null ? "" : " (" + column.getLogicalTypeAnnotation() + ")";
        String physical = column.getPrimitiveTypeName().name().toLowerCase(Locale.ROOT) + logical;
        String types = physical + " in Parquet, which Iceberg's readers in Spark cannot read as " + type;
        found.add(new Mismatch(location, table.schema().findColumnName(id), types, reading));
      }
    }
  }
}
