package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.bounds.TrustedBounds;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.PropertyUtil;

/**
 * The columns whose bounds are narrow enough to skip files: on average, a file's bound lies within the bounds of at most half of the files.
 *
 * <p>Keys of other columns would skip few files, and the query would have to run the join's small side before the scan. What was measured
 * of a table is used until a commit replaces files, or the number of files has changed by more than a tenth; after other commits for ten
 * minutes at most. It only says where to look: which files are skipped depends on their own bounds.
 */
final class TightColumns {
  /** Columns take no keys if a bound lies, on average, in a larger share of the files. */
  private static final double LARGEST_SHARE = 0.5;

  private static final int MOST_FILES = 4096;

  /** Only the largest manifests are read, and of these the first entries, to limit the time. */
  private static final int MOST_MANIFESTS = 32;

  private static final long MOST_ENTRIES = 64_000;

  private static final int MOST_TABLES = 200;
  private static final long MOST_NANOS = TimeUnit.MINUTES.toNanos(10);

  /** What was measured of each table; cleared when there are too many tables. */
  private static final Map<String, Measured> MEASURED = new ConcurrentHashMap<>();

  /** The average share of a table's files that contain a bound, by field id. */
  private record Measured(long snapshotId, long files, long atNanos, Map<Integer, Double> shares) {
    static Measured of(Snapshot snapshot) {
      return new Measured(snapshot.snapshotId(), files(snapshot), System.nanoTime(), new ConcurrentHashMap<>());
    }

    /** Judged by the current snapshot alone: a catalog may load older ones by a request of its own. */
    boolean isValid(Snapshot current) {
      return snapshotId == current.snapshotId()
          || (!DataOperations.REPLACE.equals(current.operation())
              && 10 * Math.abs(files(current) - files) <= files
              && System.nanoTime() - atNanos < MOST_NANOS);
    }

    private static long files(Snapshot snapshot) {
      return PropertyUtil.propertyAsLong(snapshot.summary(), SnapshotSummary.TOTAL_DATA_FILES_PROP, 0);
    }
  }

  private TightColumns() {}

  /**
   * The field ids of those columns that are tight in the table's current snapshot, even for time travel. Columns are not measured for a
   * scan of so few files that reading these takes less time.
   */
  static Set<Integer> of(Table table, Collection<Types.NestedField> columns, IntSupplier planned) {
    Snapshot snapshot = table.currentSnapshot();
    if (snapshot == null) {
      return Set.of();
    }
    if (MEASURED.size() > MOST_TABLES) {
      MEASURED.clear();
    }
    Map<Integer, Double> shares =
        MEASURED
            .compute(
                table.uuid() + " " + table.location(),
                (any, old) -> old != null && old.isValid(snapshot) ? old : Measured.of(snapshot))
            .shares();
    List<Types.NestedField> missing = columns.stream().filter(each -> !shares.containsKey(each.fieldId())).toList();
    if (!missing.isEmpty()) {
      shares.putAll(measure(table, snapshot, missing, planned));
    }
    return columns.stream()
        .map(Types.NestedField::fieldId)
        .filter(each -> shares.getOrDefault(each, 1.0) <= LARGEST_SHARE)
        .collect(Collectors.toSet());
  }

  private static Map<Integer, Double> measure(Table table, Snapshot snapshot, List<Types.NestedField> fields, IntSupplier planned) {
    List<ManifestFile> manifests =
        snapshot.dataManifests(table.io()).stream()
            .sorted(Comparator.comparingLong(BoundsReader::files).reversed())
            .limit(MOST_MANIFESTS)
            .toList();
    long ofEach = MOST_ENTRIES / Math.max(1, manifests.size());
    long entries = manifests.stream().mapToLong(each -> Math.min(BoundsReader.files(each), ofEach)).sum();
    if (!BoundsReader.isWorthwhile(entries, planned)) {
      return Map.of();
    }
    // Evenly spaced files, because neighbours in a manifest are often neighbours in the table.
    long step = entries / MOST_FILES + 1;
    Queue<List<TrustedBounds>> files = new ConcurrentLinkedQueue<>();
    BoundsReader.visit(
        table,
        manifests,
        null,
        ofEach,
        step,
        file -> files.add(fields.stream().map(field -> TrustedBounds.from(file, field)).toList()));
    return IntStream.range(0, fields.size())
        .boxed()
        .collect(Collectors.toMap(i -> fields.get(i).fieldId(), i -> share(files.stream().map(each -> each.get(i)).toList())));
  }

  /** The share of the files that contain a lower bound, on average; a file without trusted bounds (null) contains every one. */
  private static double share(List<TrustedBounds> files) {
    List<TrustedBounds> bounds = files.stream().filter(Objects::nonNull).toList();
    if (bounds.size() < 2) {
      return 1;
    }
    List<Comparable<Object>> lower = sorted(bounds, TrustedBounds::lower);
    List<Comparable<Object>> upper = sorted(bounds, TrustedBounds::upper);
    double found = 0;
    int begun = 0; // files whose lower bound is at most the value
    int ended = 0; // files whose upper bound is below the value
    for (Comparable<Object> value : lower) {
      while (begun < lower.size() && lower.get(begun).compareTo(value) <= 0) {
        begun++;
      }
      while (ended < upper.size() && upper.get(ended).compareTo(value) < 0) {
        ended++;
      }
      found += begun - ended;
    }
    return (found / bounds.size() + files.size() - bounds.size()) / files.size();
  }

  private static List<Comparable<Object>> sorted(List<TrustedBounds> bounds, Function<TrustedBounds, Comparable<Object>> end) {
    return bounds.stream().map(end).sorted().toList();
  }
}
