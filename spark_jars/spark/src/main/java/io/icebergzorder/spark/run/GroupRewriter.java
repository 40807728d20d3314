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
import io.icebergzorder.spark.plan.RowOrder;
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
      Dataset<Row> arranged = arranged(scan.rows(), layout, changesSpec(group), scope);
      options(write.of(arranged), group, layout, scan.id()).append();
      return FileRewriteCoordinator.get().fetchNewFiles(table, scan.id());
    } finally {
      FileRewriteCoordinator.get().clearRewrite(table, scan.id());
    }
  }

  /** Whether rows of the group may go to more than one partition. */
  static boolean changesSpec(RewriteFileGroup group) {
    return group.fileScanTasks().stream().anyMatch(task -> task.spec().specId() != group.outputSpecId());
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

  /**
   * One partition of the data frame for each file of the layout, its rows in order.
   *
   * <p>Route and index are expressions of the partitioning and of the sort, not columns: a column more would have every
   * row copied to add it and once more to drop it, which costs more than finding the positions a second time. A sort by
   * one long evaluates it once for each row; a sort by more keys would do so for each comparison.
   */
  private Dataset<Row> arranged(Dataset<Row> rows, Layout layout, boolean changesSpec, FunctionScope scope) {
    Placement placement = layout.placement();
    Shared<Placement> shared = scope.share(placement);
    Column[] own = Arrays.stream(rows.columns()).map(name -> rows.col(quoted(name))).toArray(Column[]::new);
    // Rows that are alike in every clustering column are told apart by where they came from, which no retry changes.
    boolean isSpread = placement.needsTieBreakers();
    Dataset<Row> input = isSpread ? SparkInternals.withFileAndPosition(rows) : rows;
    Column tieBreaker =
        isSpread ? functions.xxhash64(functions.col("_file"), functions.col("_pos")) : functions.lit(0L);
    KeySources sources = new KeySources(table, order, scope);
    Column packed = packed(layout, sources, scope);
    Column index = scope.call(new PositionFunctions.Index(shared), packed);
    Shared<int[]> numbers = scope.share(HashRouting.numbers(layout.files()));
    Column route = scope.call(new PositionFunctions.Route(shared, numbers), packed, tieBreaker);
    Dataset<Row> routed = input.repartition(layout.files(), route);
    int first = changesSpec ? 0 : order.partition().size();
    int leading = order.leadingOrders().size();
    if (first == leading) {
      Dataset<Row> sorted = routed.sortWithinPartitions(index);
      return isSpread ? sorted.select(own) : sorted;
    }
    List<Column> key = new ArrayList<>();
    Dataset<Row> keyed = routed;
    for (int ordinal = first; ordinal < leading; ordinal++) {
      Column value = sources.value(ordinal);
      // Iceberg's writer has one file open at a time: the rows of a partition must come one after the other.
      if (ordinal < order.partition().size()) {
        String name = StagedScan.unusedName(keyed, "_zorder_partition");
        keyed = keyed.withColumn(name, value);
        value = functions.col(name);
      }
      key.add(directed(value, order.leadingOrders().get(ordinal)));
    }
    String name = StagedScan.unusedName(keyed, "_zorder_index");
    key.add(functions.col(name));
    return keyed.withColumn(name, index).sortWithinPartitions(key.toArray(Column[]::new)).select(own);
  }

  private static Column directed(Column column, PrefixOrder order) {
    if (order.descending()) {
      return order.nullsFirst() ? column.desc_nulls_first() : column.desc_nulls_last();
    }
    return order.nullsFirst() ? column.asc_nulls_first() : column.asc_nulls_last();
  }

  private static Column packed(Layout layout, KeySources sources, FunctionScope scope) {
    Column packed = functions.lit(0L);
    for (LayoutColumn column : layout.columns()) {
      DataType type = sources.type(column.ordinal());
      Column position = scope.call(PositionFunctions.packed(column, type, scope), sources.value(column.ordinal()));
      Column known = functions.coalesce(position, functions.lit(PositionFunctions.packedOfNull(column)));
      packed = column == layout.columns().get(0) ? known : packed.bitwiseOR(known);
    }
    return packed;
  }

  private static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
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
