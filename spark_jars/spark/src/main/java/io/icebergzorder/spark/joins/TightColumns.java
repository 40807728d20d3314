package io.icebergzorder.spark.joins;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Comparators;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.types.StructType;

/**
 * The columns in which a table's files are boxes: a value lies within the bounds of at most half of the files.
 *
 * <p>Keys of other columns would skip few files, and cost a query the evaluation of the join's small side before the scan. The bounds are
 * read once for each snapshot and only the shares are kept.
 */
final class TightColumns {
  /** A column with a larger share of files for each value is not offered. */
  static final double LARGEST_SHARE = 0.5;

  /** Of a table with more files, the share is that among so many. */
  private static final int MOST_FILES = 20_000;

  private static final int MOST_SNAPSHOTS = 200;

  /** The shares of a snapshot's columns by field id, by table and snapshot; the least recently used goes first. */
  private static final Map<String, Map<Integer, Double>> SHARES =
      Collections.synchronizedMap(
          new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Map<Integer, Double>> eldest) {
              return size() > MOST_SNAPSHOTS;
            }
          });

  private TightColumns() {}

  /** The tight ones of the columns that a scan reads, by the table's current snapshot, whichever the scan reads. */
  static List<NamedReference> of(Table table, TableMetadata metadata, StructType read) {
    Snapshot snapshot = metadata.currentSnapshot();
    if (snapshot == null) {
      return List.of();
    }
    List<Types.NestedField> fields = new ArrayList<>();
    for (String name : read.fieldNames()) {
      Types.NestedField field = metadata.schema().asStruct().field(name);
      if (field != null && isServed(field.type())) {
        fields.add(field);
      }
    }
    Map<Integer, Double> shares = shares(table, snapshot, metadata, fields);
    return fields.stream()
        .filter(field -> shares.get(field.fieldId()) <= LARGEST_SHARE)
        .<NamedReference>map(field -> Expressions.column("`" + field.name().replace("`", "``") + "`"))
        .toList();
  }

  /** Types that Spark and Iceberg's bounds order alike. Spark joins floating numbers by an expression, not by the column itself. */
  private static boolean isServed(Type type) {
    return switch (type.typeId()) {
      case INTEGER, LONG, DATE, TIMESTAMP, STRING, DECIMAL -> true;
      default -> false;
    };
  }

  /** The shares of some columns; those that no query has asked for before are measured. */
  private static Map<Integer, Double> shares(
      Table table, Snapshot snapshot, TableMetadata metadata, List<Types.NestedField> fields) {
    String key = metadata.uuid() + " " + metadata.location() + " " + snapshot.snapshotId();
    Map<Integer, Double> known = SHARES.computeIfAbsent(key, any -> new ConcurrentHashMap<>());
    List<Types.NestedField> missing = fields.stream().filter(field -> !known.containsKey(field.fieldId())).toList();
    if (!missing.isEmpty()) {
      known.putAll(measure(table, snapshot, missing));
    }
    return known;
  }

  private static Map<Integer, Double> measure(Table table, Snapshot snapshot, List<Types.NestedField> fields) {
    List<String> names = fields.stream().map(Types.NestedField::name).toList();
    Map<Integer, Bounds> bounds = new HashMap<>();
    fields.forEach(field -> bounds.put(field.fieldId(), new Bounds(field.type().asPrimitiveType())));
    int files = 0;
    try (CloseableIterable<FileScanTask> tasks = table.newScan().useSnapshot(snapshot.snapshotId()).includeColumnStats(names).planFiles()) {
      for (FileScanTask task : tasks) {
        if (files++ == MOST_FILES) {
          break;
        }
        bounds.forEach((id, each) -> each.add(task.file(), id));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    boolean isOneFile = files < 2;
    Map<Integer, Double> shares = new HashMap<>();
    bounds.forEach((id, each) -> shares.put(id, isOneFile ? 1 : each.share()));
    return shares;
  }

  /** The bounds of one column in all files. */
  private static final class Bounds {
    private final Type type;
    private final Comparator<Object> order;
    private final List<Object> lower = new ArrayList<>();
    private final List<Object> upper = new ArrayList<>();
    private int unknown;

    Bounds(Type.PrimitiveType type) {
      this.type = type;
      this.order = Comparators.forType(type);
    }

    void add(DataFile file, int id) {
      ByteBuffer from = file.lowerBounds() == null ? null : file.lowerBounds().get(id);
      ByteBuffer to = file.upperBounds() == null ? null : file.upperBounds().get(id);
      if (from != null && to != null) {
        lower.add(Conversions.fromByteBuffer(type, from));
        upper.add(Conversions.fromByteBuffer(type, to));
      } else if (!holdsNullsOnly(file, id)) {
        unknown++;
      }
    }

    private static boolean holdsNullsOnly(DataFile file, int id) {
      Long values = file.valueCounts() == null ? null : file.valueCounts().get(id);
      Long nulls = file.nullValueCounts() == null ? null : file.nullValueCounts().get(id);
      return values != null && values.equals(nulls);
    }

    /** The mean share of the files that may hold a value, over all bounds as values. */
    double share() {
      if (lower.isEmpty()) {
        return 1;
      }
      Object[] starts = lower.stream().sorted(order).toArray();
      Object[] ends = upper.stream().sorted(order).toArray();
      double holding =
          Stream.concat(Arrays.stream(starts), Arrays.stream(ends))
              .mapToInt(value -> count(starts, value, true) - count(ends, value, false))
              .average()
              .orElseThrow();
      return (holding + unknown) / (lower.size() + unknown);
    }

    /** How many of the sorted values lie before one, or at it. */
    private int count(Object[] sorted, Object value, boolean inclusive) {
      int from = 0;
      int to = sorted.length;
      while (from < to) {
        int middle = (from + to) >>> 1;
        int compared = order.compare(sorted[middle], value);
        if (compared < 0 || inclusive && compared == 0) {
          from = middle + 1;
        } else {
          to = middle;
        }
      }
      return from;
    }
  }
}
