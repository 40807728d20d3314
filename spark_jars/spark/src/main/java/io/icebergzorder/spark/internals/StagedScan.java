package io.icebergzorder.spark.internals;

import io.icebergzorder.spark.internals.UnsplitTask.PlacedTask;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.ScanTaskSetManager;
import org.apache.iceberg.spark.SparkReadOptions;
import org.apache.iceberg.spark.SparkTableCache;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.Scan;

/** A data frame over exactly the given tasks. Any other plan is refused: written back, it would double every row. */
public final class StagedScan implements AutoCloseable {
  private static final String STAGED_SCAN = "org.apache.iceberg.spark.source.SparkStagedScan";

  private final String id = UUID.randomUUID().toString();
  private final SparkSession session;
  private final Table table;
  private final Map<String, String> planning;

  /** Stages tasks, which Iceberg will split and put together as it does those of any scan. */
  public StagedScan(SparkSession session, Table table, List<FileScanTask> tasks) {
    this(session, table, tasks, Map.of());
  }

  /** Stages the tasks of each partition of the data frame. */
  public static StagedScan ofPartitions(SparkSession session, Table table, List<List<FileScanTask>> partitions) {
    List<FileScanTask> placed = PlacedTask.of(partitions);
    Map<String, String> planning =
        Map.of(
            SparkReadOptions.SPLIT_SIZE, String.valueOf(PlacedTask.weight(partitions)),
            SparkReadOptions.LOOKBACK, "1",
            SparkReadOptions.FILE_OPEN_COST, "0");
    return new StagedScan(session, table, placed, planning);
  }

  private StagedScan(SparkSession session, Table table, List<FileScanTask> tasks, Map<String, String> planning) {
    this.session = session;
    this.table = table;
    this.planning = planning;
    SparkTableCache.get().add(id, table);
    ScanTaskSetManager.get().stageTasks(table, id, tasks);
  }

  /** Names the tasks, and the files that a write of them produces, in Iceberg's registries. */
  public String id() {
    return id;
  }

  public Dataset<Row> rows() {
    return session.read().format("iceberg").option("scan-task-set-id", id).options(planning).load(id);
  }

  /** Checks that a query reads the staged tasks and nothing else. */
  public void checkReadsOnlyStaged(Dataset<Row> query) {
    check(SparkInternals.line().scans(query.queryExecution()));
  }

  /** Checks that what this thread is executing, as Spark has planned it, reads the staged tasks and nothing else. */
  public void checkIsAllThatIsRead() {
    check(SparkInternals.scansOfExecution(session));
  }

  private void check(List<Scan> scans) {
    boolean isThisOne =
        scans.size() == 1
            && scans.get(0) != null
            && scans.get(0).getClass().getName().equals(STAGED_SCAN)
            && SparkInternals.taskSetId(scans.get(0)).equals(id);
    if (!isThisOne) {
      List<String> names = scans.stream().map(scan -> scan == null ? "no scan" : scan.description()).toList();
      throw new IllegalStateException(
          "Cannot rewrite %s, because this Iceberg does not read staged file groups as expected (it planned %s)"
              .formatted(table.name(), names));
    }
  }

  @Override
  public void close() {
    SparkTableCache.get().remove(id);
    ScanTaskSetManager.get().removeTasks(table, id);
  }
}
