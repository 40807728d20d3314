package io.icebergzorder.spark.plan;

import java.util.Map;
import java.util.function.LongToIntFunction;
import org.apache.iceberg.Table;

/**
 * The sizes that a table's data files are to have, as for a rewrite without options.
 *
 * @param target in bytes
 * @param least below it a file is rewritten
 * @param most above it a file is rewritten
 * @param expectedFiles into how many files so many bytes are written
 */
public record FileSizeRules(long target, long least, long most, LongToIntFunction expectedFiles) {
  /**
   * Finds the sizes by the properties, the last layout, or the data.
   *
   * @param snapshotId the newest snapshot; null if the table has none
   * @param partitions bytes of the data files of each partition
   * @throws IllegalArgumentException if Iceberg refuses a property
   */
  public static FileSizeRules of(Table table, Long snapshotId, long[] partitions) {
    RewriteHistory history = snapshotId == null ? null : new RewriteHistory(table, snapshotId);
    TargetSize target = TargetSize.of(table, false, Map.of(), history, partitions);
    IcebergRules rules = new IcebergRules(table, target.in(Map.of()));
    return new FileSizeRules(
        rules.targetFileSize(), rules.minFileSize(), rules.maxFileSize(), rules::expectedOutputFiles);
  }
}
