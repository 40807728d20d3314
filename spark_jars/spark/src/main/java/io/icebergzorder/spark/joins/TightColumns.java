package io.icebergzorder.spark.joins;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * The columns whose bounds are narrow enough to skip files: on average, a value lies within the bounds of at most half of the files.
 *
 * <p>Keys of other columns would skip few files, and the query would have to run the join's small side before the scan. What was measured
 * of a table is kept until a rewrite, or until the number of files has changed by more than a tenth. It only says where to look: which
 * files are skipped depends on their own bounds.
 */
final class TightColumns {
  /** Columns are not offered if a value lies, on average, in a larger share of the files. */
  private static final double LARGEST_SHARE = 0.5;

  private static final int MOST_FILES = 4096;

  /** The largest ones are measured, so that this takes no longer than planning a scan. */
  private static final int MOST_MANIFESTS = 32;

  private static final int MOST_TABLES = 200;

  /** What was measured of each table; all goes when there is too much. */
  private static final Map<String, Measured> MEASURED = new ConcurrentHashMap<>();

  /** A table's tight columns, by field id. */
  private record Measured(long lastRewrite, long files, Set<Integer> tight) {
    boolean isValid(long lastRewriteNow, long filesNow) {
      return lastRewrite == lastRewriteNow && 10 * Math.abs(filesNow - files) <= files;
    }
  }

  private TightColumns() {}

  /** The field ids of a table's tight columns, measured in its current snapshot, even for time travel. */
  static Set<Integer> of(Table table) {
    Snapshot snapshot = table.currentSnapshot();
    if (snapshot == null) {
      return Set.of();
    }
    long lastRewrite = lastRewrite(table, snapshot);
    long files = PropertyUtil.propertyAsLong(snapshot.summary(), SnapshotSummary.TOTAL_DATA_FILES_PROP, 0);
    if (MEASURED.size() > MOST_TABLES) {
      MEASURED.clear();
    }
    return MEASURED
        .compute(
            table.uuid() + " " + table.location(),
            (any, old) -> old != null && old.isValid(lastRewrite, files) ? old : new Measured(lastRewrite, files, measure(table, snapshot)))
        .tight();
  }

  /** The newest snapshot of the operation replace, 0 if none is left: a rewrite of files or of manifests. */
  private static long lastRewrite(Table table, Snapshot snapshot) {
    for (Snapshot each : SnapshotUtil.ancestorsOf(snapshot.snapshotId(), table::snapshot)) {
      if (DataOperations.REPLACE.equals(each.operation())) {
        return each.snapshotId();
      }
    }
    return 0;
  }

  private static Set<Integer> measure(Table table, Snapshot snapshot) {
    List<Types.NestedField> fields = table.schema().columns().stream().filter(each -> TrustedBounds.serves(each.type())).toList();
    List<ManifestFile> manifests =
        snapshot.dataManifests(table.io()).stream()
            .sorted(Comparator.comparingLong(BoundsReader::files).reversed())
            .limit(MOST_MANIFESTS)
            .toList();
    Queue<DataFile> files = new ConcurrentLinkedQueue<>();
    // Neighbours in a manifest are often neighbours in the table, so that the first ones tell little.
    long step = manifests.stream().mapToLong(BoundsReader::files).sum() / MOST_FILES + 1;
    BoundsReader.visit(table, manifests, null, step, files::add);
    return fields.stream()
        .filter(field -> share(files, field) <= LARGEST_SHARE)
        .map(Types.NestedField::fieldId)
        .collect(Collectors.toUnmodifiableSet());
  }

  /** In which share of the files a value lies, on average over all bounds; a file without bounds may hold every value. */
  private static double share(Collection<DataFile> files, Types.NestedField field) {
    List<TrustedBounds> bounds = files.stream().map(each -> TrustedBounds.from(each, field)).filter(Objects::nonNull).toList();
    if (bounds.size() < 2) {
      return 1;
    }
    Object[] lower = bounds.stream().map(TrustedBounds::lower).sorted().toArray();
    Object[] upper = bounds.stream().map(TrustedBounds::upper).sorted().toArray();
    double found = 0;
    for (Object[] values : List.of(lower, upper)) {
      // Both walk upwards beside the values: how many files begin at or below a value, and how many end below it.
      int begun = 0;
      int ended = 0;
      for (Object value : values) {
        while (begun < lower.length && compare(lower[begun], value) <= 0) {
          begun++;
        }
        while (ended < upper.length && compare(upper[ended], value) < 0) {
          ended++;
        }
        found += begun - ended;
      }
    }
    return (found / (2.0 * bounds.size()) + files.size() - bounds.size()) / files.size();
  }

  @SuppressWarnings("unchecked")
  private static int compare(Object a, Object b) {
    return ((Comparable<Object>) a).compareTo(b);
  }
}
