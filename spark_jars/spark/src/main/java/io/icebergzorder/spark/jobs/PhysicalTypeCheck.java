package io.icebergzorder.spark.jobs;

import io.icebergzorder.spark.internals.JobDescription;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.jobs.PhysicalTypes.Reading;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.RuntimeIOException;
import org.apache.iceberg.io.IOUtil;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.parquet.ParquetSchemaUtil;
import org.apache.iceberg.shaded.org.apache.parquet.format.FileMetaData;
import org.apache.iceberg.shaded.org.apache.parquet.format.Util;
import org.apache.iceberg.shaded.org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.iceberg.shaded.org.apache.parquet.schema.MessageType;
import org.apache.iceberg.shaded.org.apache.parquet.schema.PrimitiveType;
import org.apache.iceberg.types.Type;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;

/**
 * Looks whether Iceberg's readers in Spark make the right values of imported files, by the files' footers. A rewrite would write what
 * they make of them, for every engine to read.
 *
 * <p>Only files are looked at that Iceberg's own writers cannot have written: those of a table with a name mapping, which files
 * without field ids need, and those whose manifest entry has no split offsets.
 */
public final class PhysicalTypeCheck {
  private static final int FILES_OF_TASK = 16;
  private static final int TAIL = 8; // bytes: the footer's length, and the magic number
  private static final int MAGIC = 0x31524150; // PAR1

  private PhysicalTypeCheck() {}

  /** A column that not every reader reads as the table's type. */
  private record Column(String file, String name, String physical, String type, Reading reading) implements Serializable {}

  /**
   * Checks data files in a Spark job, if any has to be looked at, and has the session read them by rows if vectors would be wrong.
   *
   * @throws IllegalArgumentException if no reader makes the right values of a column, naming file, column and type
   */
  public static void check(RewriteSession session, Table table, Collection<DataFile> files) {
    boolean areMapped = table.properties().containsKey(TableProperties.DEFAULT_NAME_MAPPING);
    List<String> locations =
        files.stream()
            .filter(file -> file.format() == FileFormat.PARQUET && file.keyMetadata() == null)
            .filter(file -> areMapped || file.splitOffsets() == null)
            .map(DataFile::location)
            .distinct()
            .toList();
    if (locations.isEmpty()) {
      return;
    }
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.spark().sparkContext());
    String description = String.format(Locale.ROOT, "Reading the footers of %d files of %s", locations.size(), table.name());
    int tasks = (locations.size() + FILES_OF_TASK - 1) / FILES_OF_TASK;
    List<Column> columns =
        new JobDescription(session.spark())
            .during(
                description,
                () -> context.parallelize(locations, tasks).mapPartitions(new Footers(SerializableTable.copyOf(table))).collect());
    List<Column> misread =
        columns.stream()
            .filter(column -> column.reading == Reading.NONE)
            .sorted(Comparator.comparing(Column::file).thenComparing(Column::name))
            .toList();
    if (!misread.isEmpty()) {
      Column first = misread.get(0);
      long others = misread.stream().map(Column::file).distinct().count() - 1;
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "Cannot rewrite data files of %s, because column %s of %s is %s in Parquet, which Iceberg's readers in Spark do not read "
                  + "as %s%s: leave such files out by where, or write them anew",
              table.name(), first.name, first.file, first.physical, first.type, others == 0 ? "" : ", nor columns of " + others + " more files"));
    }
    if (!columns.isEmpty()) {
      session.readRows();
    }
  }

  /** Reads footers on executors. */
  private static final class Footers implements FlatMapFunction<Iterator<String>, Column> {
    private final Table table;

    Footers(Table table) {
      this.table = table;
    }

    @Override
    public Iterator<Column> call(Iterator<String> locations) {
      List<Column> found = new ArrayList<>();
      while (locations.hasNext()) {
        String location = locations.next();
        try {
          columns(withIds(schema(location))).filter(column -> column.getId() != null).forEach(column -> add(found, location, column));
        } catch (IOException | NotFoundException | RuntimeIOException e) {
          // A file that is damaged or gone fails with its file group, as it is sampled.
        }
      }
      return found.iterator();
    }

    private MessageType schema(String location) throws IOException {
      var file = table.io().newInputFile(location);
      try (SeekableInputStream stream = file.newStream()) {
        if (file.getLength() < 2 * TAIL) {
          throw new IOException("too short for a footer");
        }
        ByteBuffer tail = ByteBuffer.wrap(read(stream, file.getLength() - TAIL, TAIL)).order(ByteOrder.LITTLE_ENDIAN);
        int length = tail.getInt();
        if (tail.getInt() != MAGIC || length <= 0 || length > file.getLength() - TAIL) {
          throw new IOException("no footer, or an encrypted one");
        }
        byte[] footer = read(stream, file.getLength() - TAIL - length, length);
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

    /** As Iceberg's readers find the columns of a file without field ids. */
    private MessageType withIds(MessageType schema) {
      if (ParquetSchemaUtil.hasIds(schema)) {
        return schema;
      }
      String mapping = table.properties().get(TableProperties.DEFAULT_NAME_MAPPING);
      return mapping == null
          ? ParquetSchemaUtil.addFallbackIds(schema)
          : ParquetSchemaUtil.applyNameMapping(schema, NameMappingParser.fromJson(mapping));
    }

    private static Stream<PrimitiveType> columns(MessageType schema) {
      return schema.getColumns().stream().map(column -> column.getPrimitiveType());
    }

    private void add(List<Column> found, String location, PrimitiveType column) {
      int id = column.getId().intValue();
      Type type = table.schema().findType(id);
      Reading reading = type != null && type.isPrimitiveType() ? PhysicalTypes.of(type.asPrimitiveType(), column) : Reading.ANY;
      if (reading != Reading.ANY) {
        String logical = column.getLogicalTypeAnnotation() == null ? "" : " (" + column.getLogicalTypeAnnotation() + ")";
        String physical = column.getPrimitiveTypeName().name().toLowerCase(Locale.ROOT) + logical;
        found.add(new Column(location, table.schema().findColumnName(id), physical, type.toString(), reading));
      }
    }
  }
}
