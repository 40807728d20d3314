package io.icebergzorder.spark.plan;

import io.icebergzorder.core.metrics.ScanCost;
import io.icebergzorder.spark.spec.RewriteOptions;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.SizeBasedFileRewritePlanner;
import org.apache.iceberg.util.PropertyUtil;

/**
 * The target size of new data files, and its origin.
 *
 * @param from "option", "property", "last layout" or "data"
 * @param origin the source of the last layout's size, else the same as {@code from}: "option", "property" or "data"
 */
public record TargetSize(long bytes, String from, String origin) {
  private static final String OPTION = "option";
  private static final String PROPERTY = "property";
  private static final String LAST_LAYOUT = "last layout";
  private static final String DATA = "data";

  /** An automatic target size is recomputed once the table's ideal size differs by this factor. */
  private static final int FAR_OFF = 4;

  private TargetSize(long bytes, String from) {
    this(bytes, from, from);
  }

  /** The size of a stored plan with file groups; the history has the origin of the last layout's size. */
  static TargetSize stored(long bytes, String from, RewriteHistory history) {
    return LAST_LAYOUT.equals(from)
        ? history.lastTarget().map(last -> ofLastLayout(bytes, last.origin)).orElseGet(() -> new TargetSize(bytes, DATA))
        : new TargetSize(bytes, from);
  }

  /** The size of the last layout. */
  static TargetSize ofLastLayout(long bytes, String origin) {
    return new TargetSize(bytes, LAST_LAYOUT, origin);
  }

  /**
   * Finds the rules of sizes for a table's data files, as for a rewrite.
   *
   * @param snapshotId the newest snapshot; null if the table has none
   * @param partitions bytes of the data files of each partition
   * @param columns the number of columns that rows are sorted by
   * @param isFiltered whether the partitions are only part of the table
   * @throws IllegalArgumentException if Iceberg refuses an option or a property
   */
  public static IcebergRules rules(Table table, RewriteOptions options, Long snapshotId, long[] partitions, int columns, boolean isFiltered) {
    RewriteHistory history = RewriteHistory.of(table, snapshotId);
    return new IcebergRules(table, options, of(table, options, history, partitions, columns, isFiltered));
  }

  /** The size that a user has set, else Iceberg's own or the one that is found; see {@link #rules}. */
  static TargetSize of(
      Table table, RewriteOptions all, RewriteHistory history, long[] partitions, int columns, boolean isFiltered) {
    Map<String, String> options = all.all();
    Map<String, String> properties = table.properties();
    long property =
        PropertyUtil.propertyAsLong(
            properties, TableProperties.WRITE_TARGET_FILE_SIZE_BYTES, TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT);
    if (options.containsKey(RewriteDataFiles.TARGET_FILE_SIZE_BYTES)) {
      return new TargetSize(PropertyUtil.propertyAsLong(options, RewriteDataFiles.TARGET_FILE_SIZE_BYTES, property), OPTION);
    }
    return all.isLikeBuiltin() || properties.containsKey(TableProperties.WRITE_TARGET_FILE_SIZE_BYTES)
        ? new TargetSize(property, PROPERTY)
        : found(options, history, ofData(partitions, columns, ScanCost.openCost(properties)), isFiltered);
  }

  /** The automatic size. It is recomputed once the table's ideal size differs by a factor of four. */
  private static TargetSize found(Map<String, String> options, RewriteHistory history, long asked, boolean isFiltered) {
    TargetSize last = history.lastTarget().orElse(null);
    boolean isFarOff =
        last == null
            || !isFiltered
                && last.origin.equals(DATA)
                && Math.max(asked, last.bytes) / Math.min(asked, last.bytes) >= FAR_OFF;
    return isFarOff
        ? new TargetSize(betweenLimits(options, asked), DATA)
        : new TargetSize(betweenLimits(options, last.bytes), LAST_LAYOUT, last.origin);
  }

  /** The ideal size for filters on one partition: the weighted median by bytes. */
  private static long ofData(long[] partitions, int columns, long openCost) {
    long all = Arrays.stream(partitions).sum();
    long seen = 0;
    for (long size : Arrays.stream(partitions).sorted().toArray()) {
      seen += size;
      if (2 * seen >= all) {
        return ScanCost.idealFileSize(size, columns, openCost);
      }
    }
    return ScanCost.idealFileSize(0, columns, openCost);
  }

  /** The size between the user's minimum and maximum: by Iceberg's default ratios, else in the middle. Iceberg would refuse others. */
  private static long betweenLimits(Map<String, String> options, long target) {
    long least = PropertyUtil.propertyAsLong(options, SizeBasedFileRewritePlanner.MIN_FILE_SIZE_BYTES, -1);
    long most = PropertyUtil.propertyAsLong(options, SizeBasedFileRewritePlanner.MAX_FILE_SIZE_BYTES, Long.MAX_VALUE);
    long wider = (long) (least / SizeBasedFileRewritePlanner.MIN_FILE_SIZE_DEFAULT_RATIO);
    long above = target > least ? target : Math.max(least + 1, wider);
    long below = above < most ? above : Math.max(1, (long) (most / SizeBasedFileRewritePlanner.MAX_FILE_SIZE_DEFAULT_RATIO));
    return below > least ? below : least + (most - least) / 2;
  }

  /** The options for Iceberg's planner, with this size in place of Iceberg's default. */
  Map<String, String> addedTo(Map<String, String> options) {
    Map<String, String> with = new HashMap<>(options);
    with.put(RewriteDataFiles.TARGET_FILE_SIZE_BYTES, String.valueOf(bytes));
    return with;
  }
}
