package io.icebergzorder.spark.plan;

import io.icebergzorder.spark.request.RewriteRequest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.SizeBasedFileRewritePlanner;
import org.apache.iceberg.util.PropertyUtil;

/**
 * The size that new data files are to have, and who says so.
 *
 * @param bytes the size
 * @param from "option", "property", "last layout" or "data"
 */
public record TargetSize(long bytes, String from) {
  private static final String OPTION = "option";
  private static final String PROPERTY = "property";
  private static final String LAST_LAYOUT = "last layout";
  private static final String DATA = "data";

  private static final long LEAST = 16L << 20;
  private static final long MOST = 512L << 20;

  /** Files of a typical partition: so many that filters can leave out most. */
  private static final int FILES = 32;

  /**
   * Finds the size.
   *
   * @param history the branch's; null if the table has no snapshot
   * @param scope the data files that may be rewritten
   * @throws IllegalArgumentException if the option is no number
   */
  static TargetSize of(
      Table table, RewriteRequest request, Map<String, String> options, RewriteHistory history, List<Selection.PartitionFiles> scope) {
    return of(table, request.likeBuiltin(), options, history, sizes(scope));
  }

  /** Finds the size for partitions of so many bytes; if {@code likeBuiltin}, no other than Iceberg's. */
  static TargetSize of(
      Table table, boolean likeBuiltin, Map<String, String> options, RewriteHistory history, long[] partitions) {
    long property =
        PropertyUtil.propertyAsLong(
            table.properties(),
            TableProperties.WRITE_TARGET_FILE_SIZE_BYTES,
            TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT);
    if (options.containsKey(RewriteDataFiles.TARGET_FILE_SIZE_BYTES)) {
      return new TargetSize(
          PropertyUtil.propertyAsLong(options, RewriteDataFiles.TARGET_FILE_SIZE_BYTES, property), OPTION);
    }
    if (likeBuiltin || table.properties().containsKey(TableProperties.WRITE_TARGET_FILE_SIZE_BYTES)) {
      return new TargetSize(property, PROPERTY);
    }
    OptionalLong last = history == null ? OptionalLong.empty() : history.targetFileSize();
    return last.isPresent()
        ? new TargetSize(within(options, last.getAsLong()), LAST_LAYOUT)
        : new TargetSize(within(options, ofData(partitions)), DATA);
  }

  private static long[] sizes(List<Selection.PartitionFiles> scope) {
    return scope.stream()
        .mapToLong(partition -> partition.files().stream().mapToLong(file -> file.file().fileSizeInBytes()).sum())
        .toArray();
  }

  /** A 32nd of the partition that half of all bytes are in, or in smaller ones. */
  static long ofData(long[] partitions) {
    long all = Arrays.stream(partitions).sum();
    long seen = 0;
    for (long size : Arrays.stream(partitions).sorted().toArray()) {
      seen += size;
      if (2 * seen >= all) {
        return Math.max(LEAST, Math.min(MOST, size / FILES));
      }
    }
    return MOST;
  }

  /** Between the sizes that the user has set, where Iceberg would refuse it otherwise: by Iceberg's own ratios. */
  private static long within(Map<String, String> options, long target) {
    long least = PropertyUtil.propertyAsLong(options, SizeBasedFileRewritePlanner.MIN_FILE_SIZE_BYTES, -1);
    long most = PropertyUtil.propertyAsLong(options, SizeBasedFileRewritePlanner.MAX_FILE_SIZE_BYTES, Long.MAX_VALUE);
    long above =
        target > least
            ? target
            : Math.max(least + 1, (long) (least / SizeBasedFileRewritePlanner.MIN_FILE_SIZE_DEFAULT_RATIO));
    return above < most ? above : Math.max(1, (long) (most / SizeBasedFileRewritePlanner.MAX_FILE_SIZE_DEFAULT_RATIO));
  }

  /** The options for Iceberg's planner, which has a default of its own. */
  Map<String, String> in(Map<String, String> options) {
    Map<String, String> with = new HashMap<>(options);
    with.put(RewriteDataFiles.TARGET_FILE_SIZE_BYTES, String.valueOf(bytes));
    return with;
  }

  /** Whether nobody has asked for this size. */
  boolean isOurChoice() {
    return from.equals(DATA) || from.equals(LAST_LAYOUT);
  }
}
