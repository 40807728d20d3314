package io.icebergzorder.spark.run;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutColumn;
import io.icebergzorder.core.Placement;
import io.icebergzorder.core.PrefixOrder;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.request.RowOrder;
import io.icebergzorder.spark.sample.KeySources;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.spark.FileRewriteCoordinator;
import org.apache.iceberg.spark.SparkWriteOptions;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.DataFrameWriterV2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rewrites one file group by its layout: every row is read once, gets its positions, goes straight to its file, is sorted there
 * and written by Iceberg's own writers.
 */
final class GroupRewriter {
  private static final Logger LOG = LoggerFactory.getLogger(GroupRewriter.class);

  private final RewriteSession session;
  private final Table table;
  private final RowOrder order;

  GroupRewriter(RewriteSession session, Table table, RowOrder order) {
    this.session = session;
    this.table = table;
    this.order = order;
  }

  /** The session that rewrites. */
  SparkSession spark() {
    return session.spark();
  }

  /** The table whose file groups are rewritten. */
  Table table() {
    return table;
  }

  /**
   * Rewrites a file group; nothing is committed.
   *
   * @return the new data files, which the caller owns; whatever else tasks have written is deleted, or will be when they end
   * @throws IllegalStateException if the new files have not the rows of the old ones
   * @throws Exception whatever Spark or Iceberg failed with. Whatever was thrown, no task runs any more, and the new files are
   *     deleted
   */
  Set<DataFile> rewrite(RewriteFileGroup group, Layout layout) throws Exception {
    // What functions share is there until no task of a group that failed runs any more.
    try (GroupTasks tasks = new GroupTasks(session.spark().sparkContext());
        FunctionScope scope = new FunctionScope(session)) {
      try {
        Set<DataFile> files = rewrite(group, layout, tasks, scope);
        RowCounts.check(table, group, files);
        tasks.keepOnly(new KeptFiles(table, files));
        return files;
      } catch (Throwable e) {
        deleteFiles(tasks);
        throw e;
      }
    }
  }

  private Set<DataFile> rewrite(RewriteFileGroup group, Layout layout, GroupTasks tasks, FunctionScope scope)
      throws Exception {
    StagedScan scan = new StagedScan(session.spark(), table, group.fileScanTasks());
    try (scan;
        StagedWrite write = new StagedWrite(session, table, scan, tasks.locations())) {
      Dataset<Row> arranged =
          new RowArrangement(table, order, layout, scope).of(scan.rows(), PlannedGroup.changesSpec(group));
      options(write.of(arranged), group, layout, scan.id()).append();
      return FileRewriteCoordinator.get().fetchNewFiles(table, scan.id());
    } finally {
      FileRewriteCoordinator.get().clearRewrite(table, scan.id());
    }
  }

  private void deleteFiles(GroupTasks tasks) {
    int failed = 0;
    for (String location : tasks.filesInTheEnd()) {
      try {
        table.io().deleteFile(location);
      } catch (RuntimeException e) {
        failed++;
        // Storage that is gone fails for each of thousands, all for one reason.
        if (failed == 1) {
          LOG.warn("Failed to delete {} of a file group that failed; remove_orphan_files collects it", location, e);
        }
      }
    }
    if (failed > 1) {
      LOG.warn("Failed to delete {} files of a file group that failed; remove_orphan_files collects them", failed);
    }
  }

  private DataFrameWriterV2<Row> options(
      DataFrameWriterV2<Row> writer, RewriteFileGroup group, Layout layout, String id) {
    // One map of texts, because the methods for other types differ between Spark lines.
    return writer.options(
        Map.of(
            SparkWriteOptions.TARGET_FILE_SIZE_BYTES, String.valueOf(rollAt(group, layout)),
            SparkWriteOptions.USE_TABLE_DISTRIBUTION_AND_ORDERING, "false",
            SparkWriteOptions.OUTPUT_SPEC_ID, String.valueOf(group.outputSpecId()),
            SparkWriteOptions.FANOUT_ENABLED, "false",
            "rewritten-file-scan-task-set-id", id));
  }

  /**
   * The length at which the writer starts another file. The writer's own count includes the open row group before its
   * pages are encoded and compressed, so a file of the planned size would be split in two near its end; the allowance is
   * one row group. Where even cuts could not reach the planned number of files (many rows of one index), a file may be
   * far larger than planned, and rolls at the planner's size.
   */
  private long rollAt(RewriteFileGroup group, Layout layout) {
    if (layout.files() < group.expectedOutputFiles()) {
      return group.maxOutputFileSize();
    }
    long rowGroup =
        PropertyUtil.propertyAsLong(
            table.properties(),
            TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
            TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES_DEFAULT);
    return group.maxOutputFileSize() + rowGroup;
  }
}
