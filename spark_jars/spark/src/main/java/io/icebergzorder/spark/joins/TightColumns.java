package io.icebergzorder.spark.joins;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.core.metrics.ScanMeasurement;
import io.icebergzorder.core.metrics.ScanMeasurement.FilterRead;
import io.icebergzorder.core.metrics.ScanMeasurement.MeasuredFiles;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.internals.SparkInternals;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.types.StructType;

/**
 * The columns whose bounds are narrow enough to skip files: on average, a value lies within the bounds of at most half of the files
 * that have values.
 *
 * <p>Keys of other columns would skip few files, and the query would have to run the join's small side before the scan. Reading the bounds
 * takes as long as planning a scan of the whole table, so what was measured is kept: until a rewrite, or until the number of files has
 * changed by more than a tenth.
 */
final class TightColumns {
  /** Columns are not offered if a value lies, on average, in a larger share of the files. */
  static final double LARGEST_SHARE = 0.5;

  /** Of larger tables, only so many files are measured. */
  private static final int MOST_FILES = 20_000;

  private static final int MOST_TABLES = 200;

  /** What was measured of each table; the least recently used one goes first. */
  private static final Map<String, Measured> MEASURED =
      Collections.synchronizedMap(
          new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Measured> eldest) {
              return size() > MOST_TABLES;
            }
          });

  /** What was measured of a table's columns, by field id; {@code files} is the number of files at the first time. */
  private record Measured(long lastRewrite, long files, Map<Integer, Bounds> byField) {
    boolean isValid(long lastRewriteNow, long filesNow) {
      return lastRewrite == lastRewriteNow && 10 * Math.abs(filesNow - files) <= files;
    }
  }

  /** A column's bounds: in which share of the files with values a value lies, on average, and the extent of all files measured. */
  private record Bounds(double share, Extent extent) {
    static final Bounds NOT_TIGHT = new Bounds(1, Extent.UNKNOWN);
  }

  private TightColumns() {}

  /** The tight columns among those that a scan reads, measured in the table's current snapshot, even for time travel. */
  static Map<NamedReference, Extent> of(Table table, TableMetadata metadata, StructType read) {
    Snapshot snapshot = metadata.currentSnapshot();
    if (snapshot == null) {
      return Map.of();
    }
    List<Types.NestedField> fields = new ArrayList<>();
    for (String name : read.fieldNames()) {
      Types.NestedField field = metadata.schema().asStruct().field(name);
      if (field != null && isServed(field.type())) {
        fields.add(field);
      }
    }
    Map<Integer, Bounds> bounds = bounds(table, snapshot, metadata, fields);
    Map<NamedReference, Extent> found = new LinkedHashMap<>();
    for (Types.NestedField field : fields) {
      Bounds own = bounds.get(field.fieldId());
      if (own.share() <= LARGEST_SHARE) {
        found.put(Expressions.column(SparkInternals.quoted(field.name())), own.extent());
      }
    }
    return found;
  }

  /** Types that Spark and Iceberg's bounds order alike. Spark normalizes floats and doubles in joins, so their condition is no column. */
  private static boolean isServed(Type type) {
    return switch (type.typeId()) {
      case INTEGER, LONG, DATE, TIMESTAMP, STRING, DECIMAL -> true;
      default -> false;
    };
  }

  /** The bounds of some columns; those that are not kept are measured now. */
  private static Map<Integer, Bounds> bounds(
      Table table, Snapshot snapshot, TableMetadata metadata, List<Types.NestedField> fields) {
    String key = metadata.uuid() + " " + metadata.location();
    long lastRewrite = lastRewrite(metadata, snapshot);
    long files = PropertyUtil.propertyAsLong(snapshot.summary(), SnapshotSummary.TOTAL_DATA_FILES_PROP, 0);
    Map<Integer, Bounds> known =
        MEASURED
            .compute(
                key,
                (any, old) ->
                    old != null && old.isValid(lastRewrite, files) ? old : new Measured(lastRewrite, files, new ConcurrentHashMap<>()))
            .byField();
    List<Types.NestedField> missing = fields.stream().filter(field -> !known.containsKey(field.fieldId())).toList();
    if (!missing.isEmpty()) {
      List<Bounds> measured = measure(table, snapshot, metadata.schema(), missing);
      for (int i = 0; i < measured.size(); i++) {
        known.put(missing.get(i).fieldId(), measured.get(i));
      }
    }
    return known;
  }

  /** The newest snapshot of the operation replace, 0 if none is left: a rewrite of files or of manifests. */
  private static long lastRewrite(TableMetadata metadata, Snapshot snapshot) {
    for (Snapshot each : SnapshotUtil.ancestorsOf(snapshot.snapshotId(), metadata::snapshot)) {
      if (DataOperations.REPLACE.equals(each.operation())) {
        return each.snapshotId();
      }
    }
    return 0;
  }

  private static List<Bounds> measure(Table table, Snapshot snapshot, Schema schema, List<Types.NestedField> fields) {
    List<ClusteringColumn> columns =
        fields.stream().map(field -> new ClusteringColumn(List.of(field.name()), field.type().toString())).toList();
    BoundedFiles files = new FileBounds(columns, schema, visitor -> visit(table, snapshot, fields, visitor)).all();
    // The bounds themselves are the values that are looked for.
    Sample bounds = new Sample(files.columns().stream().map(each -> each.lower().and(each.upper())).toList());
    List<MeasuredFiles> measured = List.of(new MeasuredFiles(files, bounds, bounds.rows()));
    return IntStream.range(0, columns.size())
        .mapToObj(column -> files.count() < 2 ? Bounds.NOT_TIGHT : bounds(measured, files.columns().get(column), column))
        .toList();
  }

  private static void visit(Table table, Snapshot snapshot, List<Types.NestedField> fields, Consumer<DataFile> visitor) {
    // A scan of a snapshot knows the names that columns had in it; a column may have been renamed or added since.
    Schema then = SnapshotUtil.schemaFor(table, snapshot.snapshotId());
    List<String> names = fields.stream().map(field -> then.findColumnName(field.fieldId())).filter(Objects::nonNull).toList();
    try (CloseableIterable<FileScanTask> tasks = table.newScan().useSnapshot(snapshot.snapshotId()).includeColumnStats(names).planFiles()) {
      int files = 0;
      for (FileScanTask task : tasks) {
        if (files++ == MOST_FILES) {
          break;
        }
        visitor.accept(task.file());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Not tight if bounds are missing or may be wrong. */
  private static Bounds bounds(List<MeasuredFiles> measured, ColumnBounds bounds, int column) {
    FilterRead read = ScanMeasurement.of(measured, column, UnaryOperator.identity());
    if (read == null || bounds.column().type().equals("string") && hasReplaced(bounds.lower().and(bounds.upper()))) {
      return Bounds.NOT_TIGHT;
    }
    return new Bounds(read.files() / IntStream.range(0, bounds.size()).filter(bounds::hasValues).count(), extent(bounds));
  }

  /** Known for integers, dates and timestamps, whose encoded keys are their values. */
  private static Extent extent(ColumnBounds bounds) {
    String type = bounds.column().type();
    int[] files = IntStream.range(0, bounds.size()).filter(bounds::hasValues).toArray();
    if (type.equals("string") || type.startsWith("decimal") || !Arrays.stream(files).allMatch(bounds::isBounded)) {
      return Extent.UNKNOWN;
    }
    return new Extent(
        Arrays.stream(files).mapToLong(bounds.lower()::longKey).min().orElseThrow(),
        Arrays.stream(files).mapToLong(bounds.upper()::longKey).max().orElseThrow());
  }

  /** Whether a bound has U+FFFD: Iceberg writes it for bytes that are not UTF-8, and a file's rows may then lie outside of its bounds. */
  private static boolean hasReplaced(KeyColumn bounds) {
    return IntStream.range(0, bounds.size())
        .filter(row -> bounds.state(row) == KeyColumn.VALUE)
        .anyMatch(row -> new String(bounds.bytesKey(row), StandardCharsets.UTF_8).indexOf('\uFFFD') >= 0);
  }
}
