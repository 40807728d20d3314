package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SessionCatalog;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.DataFrameWriterV2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.CollectionAccumulator;

/**
 * The write of a staged file group, with the writers of {@link GroupWriterFactory}. Iceberg's staged write "commits" by noting
 * the new files in {@code FileRewriteCoordinator}, no more.
 */
final class StagedWrite implements AutoCloseable {
  private static final String REWRITE = "org.apache.iceberg.spark.source.SparkWrite$RewriteFiles";

  private final RewriteSession session;
  private final String table;

  /**
   * Opens a write in the session of a rewrite.
   *
   * @param written the table whose file group is written
   * @param scan the staged file group, which is all that the write may read
   * @param locations where tasks put the locations of the files that they have finished
   */
  StagedWrite(
      RewriteSession session,
      org.apache.iceberg.Table written,
      StagedScan scan,
      CollectionAccumulator<String> locations) {
    Table staged = SparkInternals.stagedTable(written, scan.id());
    this.session = session;
    this.table = SessionCatalog.register(new GroupTable((SupportsWrite) staged, scan, locations));
  }

  DataFrameWriterV2<Row> of(Dataset<Row> rows) {
    return rows.writeTo(session.nameOf(table));
  }

  @Override
  public void close() {
    SessionCatalog.forget(table);
  }

  private record GroupTable(SupportsWrite staged, StagedScan scan, CollectionAccumulator<String> locations)
      implements SupportsWrite {
    @Override
    public String name() {
      return staged.name();
    }

    @Override
    public Column[] columns() {
      return staged.columns();
    }

    @Override
    public Transform[] partitioning() {
      return staged.partitioning();
    }

    @Override
    public Map<String, String> properties() {
      return staged.properties();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return staged.capabilities();
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      WriteBuilder builder = staged.newWriteBuilder(info);
      return new WriteBuilder() {
        @Override
        public Write build() {
          return new GroupWrite(builder.build(), scan, info.schema(), locations);
        }
      };
    }
  }

  private record GroupWrite(Write staged, StagedScan scan, StructType schema, CollectionAccumulator<String> locations)
      implements Write {
    @Override
    public String description() {
      return staged.description();
    }

    @Override
    public BatchWrite toBatch() {
      BatchWrite batch = staged.toBatch();
      if (!batch.getClass().getName().equals(REWRITE)) {
        throw new IllegalStateException(
            String.format(
                "Cannot write a rewritten file group, because this Iceberg does not stage it as expected (it planned %s)",
                batch.getClass().getName()));
      }
      SparkInternals.checkTellsLocations();
      return new GroupBatchWrite(batch, scan, schema, locations);
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
      return staged.supportedCustomMetrics();
    }

    @Override
    public CustomTaskMetric[] reportDriverMetrics() {
      return staged.reportDriverMetrics();
    }
  }

  private record GroupBatchWrite(
      BatchWrite staged, StagedScan scan, StructType schema, CollectionAccumulator<String> locations) implements BatchWrite {
    /** Makes the writers, once Spark has planned the write, and before any task runs. */
    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      scan.checkIsAllThatIsRead();
      return new GroupWriterFactory(staged.createBatchWriterFactory(info), schema, locations);
    }

    @Override
    public boolean useCommitCoordinator() {
      return staged.useCommitCoordinator();
    }

    @Override
    public void onDataWriterCommit(WriterCommitMessage message) {
      staged.onDataWriterCommit(message);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      staged.commit(messages);
    }

    /** Leaves the files to {@link GroupRewriter}: Spark does not know of all, and Iceberg deletes none of a rewrite. */
    @Override
    public void abort(WriterCommitMessage[] messages) {}

    /** What Spark logs, twice, when it aborts the write: not the locations of all files, which a record would show. */
    @Override
    public String toString() {
      return staged.toString();
    }
  }
}
