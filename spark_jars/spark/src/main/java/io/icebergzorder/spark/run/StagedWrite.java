package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SessionCatalog;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
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
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.util.CollectionAccumulator;

/**
 * The write of what a job has staged, with the writers of {@link GroupWriterFactory}. Iceberg's staged write would
 * "commit" by noting the new files in {@code FileRewriteCoordinator}, which does not tell whose they are: they are kept
 * here, by task.
 */
final class StagedWrite implements AutoCloseable {
  private static final String REWRITE = "org.apache.iceberg.spark.source.SparkWrite$RewriteFiles";

  private final RewriteSession session;
  private final RowArrangement.Arranged arranged;
  private final String table;
  private final AtomicReference<List<List<DataFile>>> written = new AtomicReference<>();

  /** What the parts of the write share. */
  private record Job(
      StagedScan scan,
      int columns,
      List<StructField> furtherColumns,
      GroupWriterFactory.FileNumbers files,
      CollectionAccumulator<String> locations,
      AtomicReference<List<List<DataFile>>> written) {}

  /** Opens a write in the session of a rewrite. */
  StagedWrite(
      RewriteSession session,
      org.apache.iceberg.Table of,
      StagedScan scan,
      RowArrangement.Arranged arranged,
      Shared<int[]> tasksOfFiles,
      CollectionAccumulator<String> locations) {
    StructType rows = arranged.rows().schema();
    List<StructField> furtherColumns = Arrays.asList(rows.fields()).subList(arranged.columns(), rows.length());
    int field = arranged.fileColumn().map(rows::fieldIndex).orElse(-1);
    GroupWriterFactory.FileNumbers files = new GroupWriterFactory.FileNumbers(field, tasksOfFiles);
    Job job = new Job(scan, arranged.columns(), furtherColumns, files, locations, written);
    this.session = session;
    this.arranged = arranged;
    this.table = SessionCatalog.register(new GroupTable((SupportsWrite) SparkInternals.stagedTable(of, scan.id()), job));
  }

  /** The writer of the rows. */
  DataFrameWriterV2<Row> writer() {
    return arranged.rows().writeTo(session.nameOf(table));
  }

  /** The new files, by task, once they are written. */
  List<List<DataFile>> files() {
    List<List<DataFile>> files = written.get();
    if (files == null) {
      throw new IllegalStateException("Cannot tell the files of a rewrite, because Spark has not finished its write");
    }
    return files;
  }

  @Override
  public void close() {
    SessionCatalog.forget(table);
  }

  /** Iceberg's table, and the further columns that rows have. */
  private record GroupTable(SupportsWrite staged, Job job) implements SupportsWrite {
    @Override
    public String name() {
      return staged.name();
    }

    @Override
    public Column[] columns() {
      Stream<Column> further = job.furtherColumns.stream().map(each -> Column.create(each.name(), each.dataType()));
      return Stream.concat(Arrays.stream(staged.columns()), further).toArray(Column[]::new);
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
      StructType written = new StructType(Arrays.copyOf(info.schema().fields(), job.columns));
      WriteBuilder builder = staged.newWriteBuilder(new WriteInfo(info, written));
      return new WriteBuilder() {
        @Override
        public Write build() {
          return new GroupWrite(builder.build(), job, written);
        }
      };
    }
  }

  /** What Iceberg is told of a write: of the columns only those that it writes. */
  private record WriteInfo(LogicalWriteInfo of, StructType schema) implements LogicalWriteInfo {
    @Override
    public String queryId() {
      return of.queryId();
    }

    @Override
    public CaseInsensitiveStringMap options() {
      return of.options();
    }

    @Override
    public Optional<StructType> rowIdSchema() {
      return of.rowIdSchema();
    }

    @Override
    public Optional<StructType> metadataSchema() {
      return of.metadataSchema();
    }
  }

  private record GroupWrite(Write staged, Job job, StructType schema) implements Write {
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
      SparkInternals.checkTellsFiles();
      return new GroupBatchWrite(batch, job, schema);
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

  private record GroupBatchWrite(BatchWrite staged, Job job, StructType schema) implements BatchWrite {
    /** Makes the writers, once Spark has planned the write, and before any task runs. */
    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      job.scan.checkIsAllThatIsRead();
      return new GroupWriterFactory(staged.createBatchWriterFactory(info), schema, job.files, job.locations);
    }

    @Override
    public boolean useCommitCoordinator() {
      return staged.useCommitCoordinator();
    }

    /** Takes what each task has written, in the order of the tasks. */
    @Override
    public void commit(WriterCommitMessage[] messages) {
      job.written.set(Arrays.stream(messages).map(each -> ((GroupWriterFactory.TaskFiles) each).files()).toList());
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
