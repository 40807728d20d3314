package io.icebergzorder.spark.plan;

import io.icebergzorder.spark.plan.selection.IcebergRules;
import io.icebergzorder.spark.request.RewriteOptions;
import java.util.Map;
import java.util.function.LongToIntFunction;
import org.apache.iceberg.Table;

/**
 * The sizes that a table's data files are to have, as for a rewrite.
 *
 * @param target in bytes
 * @param least below it a file is rewritten
 * @param most above it a file is rewritten
 * @param minInputFiles so many files of a partition are rewritten whatever their bytes
 * @param expectedFiles into how many files so many bytes are written
 */
public record FileSizeRules(long target, long least, long most, int minInputFiles, LongToIntFunction expectedFiles) {
  /**
   * Finds the sizes by options, the properties, the last layout, or the data.
   *
   * @param options of a rewrite
   * @param snapshotId the newest snapshot; null if the table has none
   * @param partitions bytes of the data files of each partition
   * @param isFiltered whether these are of a part of the table
   * @throws IllegalArgumentException if Iceberg refuses an option or a property
   */
  public static FileSizeRules of(
      Table table, RewriteOptions options, Long snapshotId, long[] partitions, boolean isFiltered) {
    RewriteHistory history = snapshotId == null ? null : new RewriteHistory(table, snapshotId);
    Map<String, String> planning = options.forPlanner();
    TargetSize target =
        TargetSize.given(table, false, planning)
            .orElseGet(() -> TargetSize.found(planning, history, partitions, isFiltered));
    IcebergRules rules = new IcebergRules(table, target.in(planning));
    return new FileSizeRules(
        rules.targetFileSize(),
        rules.minFileSize(),
        rules.maxFileSize(),
        rules.minInputFiles(),
        rules::expectedOutputFiles);
  }
}
