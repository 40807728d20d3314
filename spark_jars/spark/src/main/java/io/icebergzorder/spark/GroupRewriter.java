package io.icebergzorder.spark;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutColumn;
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
 * Rewrites one file group by its layout: every row is read once, gets its index, goes straight to its file, is sorted there
 * and written by Iceberg's own writers.
 */
final class GroupRewriter {
  private static final Logger LOG = LoggerFactory.getLogger(GroupRewriter.class);

  private final SparkSession session;
  private final SparkLine line;
  private final Table table;

  GroupRewriter(SparkSession session, SparkLine line, Table table) {
    this.session = session;
    this.line = line;
    this.table = table;
  }

  /**
   * Rewrites a file group; nothing is committed.
   *
   * @return the new data files, which the caller owns
   * @throws Exception whatever Spark or Iceberg failed with; the files that were finished by then are deleted
   */
  Set<DataFile> rewrite(RewriteFileGroup group, Layout layout) throws Exception {
    StagedScan scan = new StagedScan(session, line, table, group.fileScanTasks());
    try (scan;
        FunctionScope scope = new FunctionScope(session);
        StagedWrite write = new StagedWrite(session, line.stagedTable(table, scan.id()))) {
      Dataset<Row> rows = scan.rows();
      scan.checkReadsOnlyStaged(rows);
      options(write.of(arranged(rows, layout, scope)), group, layout, scan.id()).append();
      return FileRewriteCoordinator.get().fetchNewFiles(table, scan.id());
    } catch (Exception e) {
      deleteFinished(scan.id());
      throw e;
    } finally {
      FileRewriteCoordinator.get().clearRewrite(table, scan.id());
    }
  }

  private void deleteFinished(String id) {
    if (!FileRewriteCoordinator.get().fetchSetIds(table).contains(id)) {
      return;
    }
    for (DataFile file : FileRewriteCoordinator.get().fetchNewFiles(table, id)) {
      try {
        table.io().deleteFile(file.location());
      } catch (RuntimeException e) {
        LOG.warn("Failed to delete {} of a file group that failed; remove_orphan_files collects it", file.location(), e);
      }
    }
  }

  /** One partition of the data frame for each file of the layout, its rows in the order of the curve. */
  private Dataset<Row> arranged(Dataset<Row> rows, Layout layout, FunctionScope scope) {
    String index = StagedScan.unusedName(rows, "_zorder_index");
    Column route = scope.call(new ColumnFunctions.Route(layout.cuts()), functions.col(index));
    return rows.withColumn(index, index(layout, scope))
        .repartition(layout.files(), route)
        .sortWithinPartitions(index)
        .drop(index);
  }

  private Column index(Layout layout, FunctionScope scope) {
    Column index = functions.lit(0L);
    for (LayoutColumn column : layout.columns()) {
      DataType type = Sampler.sparkType(table, column.column());
      Column spread = scope.call(ColumnFunctions.spread(column, type), functions.col(column.column().name()));
      Column bits = functions.coalesce(spread, functions.lit(ColumnFunctions.spreadOfNull(column)));
      index = column == layout.columns().get(0) ? bits : index.bitwiseOR(bits);
    }
    return index;
  }

  private DataFrameWriterV2<Row> options(
      DataFrameWriterV2<Row> writer, RewriteFileGroup group, Layout layout, String id) {
    boolean samePartitions =
        group.fileScanTasks().stream().allMatch(task -> task.spec().specId() == group.outputSpecId());
    return writer
        .option(SparkWriteOptions.TARGET_FILE_SIZE_BYTES, rollAt(group, layout))
        .option(SparkWriteOptions.USE_TABLE_DISTRIBUTION_AND_ORDERING, false)
        .option(SparkWriteOptions.OUTPUT_SPEC_ID, group.outputSpecId())
        .option(SparkWriteOptions.FANOUT_ENABLED, !samePartitions)
        .option("rewritten-file-scan-task-set-id", id);
  }

  /**
   * The length at which the writer starts another file. The writer's own count includes the open row group before its
   * pages are encoded and compressed, so a file of the planned size would be split in two near its end; the allowance is
   * one row group. Where the cuts could not reach the planned number of files (many rows of one index), a file may be far
   * larger than planned, and rolls at the planner's size.
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
