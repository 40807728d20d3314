package io.icebergzorder.spark.commit;

import io.icebergzorder.spark.internals.SparkInternals;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.BiConsumer;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.apache.iceberg.metrics.LoggingMetricsReporter;
import org.apache.iceberg.metrics.MetricsReporter;

/** One commit on its way to the catalog: checked against the very metadata that it is to replace, and known to be sent or not. */
// Iceberg hands each try, with the metadata that it is based on, to the table's operations, and a catalog takes it only if that metadata
// is still the table's. (Snapshot updates take a validator of their own from Iceberg 1.11 on only.)
final class CommitAttempt {
  private final Table table;
  private final Snapshot start;
  private final BiConsumer<TableMetadata, TableMetadata> check;
  private boolean isRefused;
  private boolean mayBeCommitted;

  CommitAttempt(Table table, Snapshot start, BiConsumer<TableMetadata, TableMetadata> check) {
    this.table = table;
    this.start = start;
    this.check = check;
  }

  Table table() {
    // Iceberg stages file groups of no other tables.
    TableOperations operations = ((HasTableOperations) table).operations();
    TableOperations watched =
        (TableOperations)
            Proxy.newProxyInstance(
                CommitAttempt.class.getClassLoader(),
                new Class<?>[] {TableOperations.class},
                (proxy, method, arguments) ->
                    method.getName().equals("commit")
                        ? commit(operations, method, arguments)
                        : SparkInternals.invoke(operations, method, arguments));
    MetricsReporter reporter = table instanceof BaseTable base ? base.reporter() : LoggingMetricsReporter.instance();
    return new BaseTable(watched, table.name(), reporter) {
      @Override
      public Snapshot snapshot(long id) {
        // Iceberg asks for the number of the starting snapshot, which may be expired between two commits.
        Snapshot known = super.snapshot(id);
        return known == null && start != null && id == start.snapshotId() ? start : known;
      }
    };
  }

  /** Whether the catalog was asked to commit, and did not clearly refuse. */
  boolean mayBeCommitted() {
    return mayBeCommitted;
  }

  /** Whether the check refused what was to be committed. */
  boolean isRefused() {
    return isRefused;
  }

  private Object commit(TableOperations operations, Method method, Object[] arguments) throws Throwable {
    isRefused = true;
    check.accept((TableMetadata) arguments[0], (TableMetadata) arguments[1]);
    isRefused = false;
    mayBeCommitted = true;
    try {
      return SparkInternals.invoke(operations, method, arguments);
    } catch (RuntimeException e) {
      mayBeCommitted = !(e instanceof CleanableFailure);
      throw e;
    }
  }
}
