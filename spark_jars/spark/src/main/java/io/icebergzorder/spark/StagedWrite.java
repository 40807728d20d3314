package io.icebergzorder.spark;

import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.DataFrameWriterV2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
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

/**
 * The write of a staged file group, with one thing added: when it fails, the files that its tasks had finished become known.
 *
 * <p>Iceberg skips the clean-up of a rewrite that Spark aborts, and tells nobody what was written. Its staged write "commits"
 * by noting the new files in {@code FileRewriteCoordinator}, no more; so here an abort notes what is finished in the same way,
 * and the caller, who knows that the file group failed, can delete it.
 */
final class StagedWrite implements AutoCloseable {
  private static final String REWRITE = "org.apache.iceberg.spark.source.SparkWrite$RewriteFiles";

  private final String catalog;
  private final String table;

  /**
   * Opens a write in a session that the caller may change.
   *
   * @param staged Iceberg's table of the staged file group
   */
  StagedWrite(SparkSession session, Table staged) {
    this.catalog = SessionCatalog.addTo(session);
    this.table = SessionCatalog.register(new RecoverableTable((SupportsWrite) staged));
  }

  DataFrameWriterV2<Row> of(Dataset<Row> rows) {
    return rows.writeTo(catalog + "." + table);
  }

  @Override
  public void close() {
    SessionCatalog.forget(table);
  }

  private record RecoverableTable(SupportsWrite staged) implements SupportsWrite {
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
          return new RecoverableWrite(builder.build(), info.schema());
        }
      };
    }
  }

  private record RecoverableWrite(Write staged, StructType schema) implements Write {
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
      return new RecoverableBatchWrite(batch, schema);
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

  private record RecoverableBatchWrite(BatchWrite staged, StructType schema) implements BatchWrite {
    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new GroupWriterFactory(staged.createBatchWriterFactory(info), schema);
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

    @Override
    public void abort(WriterCommitMessage[] messages) {
      staged.commit(Arrays.stream(messages).filter(Objects::nonNull).toArray(WriterCommitMessage[]::new));
    }
  }
}
