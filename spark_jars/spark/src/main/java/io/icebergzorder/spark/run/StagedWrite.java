package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SessionCatalog;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.LogicalWriteInfoImpl;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The write of a job's rows, which keeps new files by task; Iceberg's staged write does not. */
final class StagedWrite {
  private static final String REWRITE = "org.apache.iceberg.spark.source.SparkWrite$RewriteFiles";

  private final Table table;
  private final StagedScan scan;
  private final RowArrangement.Arranged arranged;
  private final List<StructField> furtherColumns;
  private List<List<DataFile>> written;

  /** Takes rows, which may come from the staged scan only. */
  StagedWrite(Table table, StagedScan scan, RowArrangement.Arranged arranged) {
    this.table = table;
    this.scan = scan;
    this.arranged = arranged;
    StructField[] fields = arranged.rows().schema().fields();
    this.furtherColumns = Arrays.asList(fields).subList(arranged.columns(), fields.length);
  }

  /** Writes the rows, and returns the new files by task. */
  List<List<DataFile>> write(RewriteSession session, Map<String, String> options) throws NoSuchTableException {
    SupportsWrite staged = (SupportsWrite) SparkInternals.stagedTable(table, scan.id());
    String name = SessionCatalog.register(new GroupTable(staged, this));
    try {
      arranged.rows().writeTo(session.nameOf(name)).options(options).append();
      return written;
    } finally {
      SessionCatalog.forget(name);
    }
  }

  static void delete(Table table, Collection<List<DataFile>> files) {
    List<String> locations = files.stream().flatMap(List::stream).map(DataFile::location).toList();
    CatalogUtil.deleteFiles(table.io(), locations, "data", true);
  }

  /** Iceberg's table, with the extra columns of the rows. */
  private record GroupTable(SupportsWrite staged, StagedWrite job) implements SupportsWrite {
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

    /** Shows Iceberg only the columns that it writes. */
    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      StructType written = new StructType(Arrays.copyOf(info.schema().fields(), job.arranged.columns()));
      WriteBuilder builder =
          staged.newWriteBuilder(
              new LogicalWriteInfoImpl(
                  info.queryId(), written, info.options(), info.rowIdSchema(), info.metadataSchema()));
      return new WriteBuilder() {
        @Override
        public Write build() {
          return new GroupWrite(builder.build(), job, written);
        }
      };
    }
  }

  private record GroupWrite(Write staged, StagedWrite job, StructType schema) implements Write {
    @Override
    public String description() {
      return staged.description();
    }

    @Override
    public BatchWrite toBatch() {
      BatchWrite batch = staged.toBatch();
      if (!batch.getClass().getName().equals(REWRITE)) {
        throw new IllegalStateException(
            "Cannot write a rewritten file group, because this Iceberg does not stage it as expected (it planned %s)"
                .formatted(batch.getClass().getName()));
      }
      SparkInternals.checkTellsFiles();
      return new GroupBatchWrite(batch, job, schema);
    }
  }

  private record GroupBatchWrite(BatchWrite staged, StagedWrite job, StructType schema) implements BatchWrite {
    /** Makes the writers, once Spark has planned the write, and before any task runs. */
    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      job.scan.checkIsAllThatIsRead();
      RowArrangement.Arranged rows = job.arranged;
      int fileField = rows.hasFiles() ? rows.columns() : -1;
      return new GroupWriterFactory(staged.createBatchWriterFactory(info), schema, fileField, rows.placesOfFile(), rows.tasksOfFiles());
    }

    @Override
    public boolean useCommitCoordinator() {
      return staged.useCommitCoordinator();
    }

    /** Takes the written files of each task, in task order. */
    @Override
    public void commit(WriterCommitMessage[] messages) {
      job.written = files(messages);
    }

    /** Deletes the files of completed tasks; Iceberg deletes none for a rewrite. */
    @Override
    public void abort(WriterCommitMessage[] messages) {
      delete(job.table, files(messages));
    }

    private static List<List<DataFile>> files(WriterCommitMessage[] messages) {
      return Arrays.stream(messages).filter(Objects::nonNull).map(each -> ((GroupWriterFactory.TaskFiles) each).files()).toList();
    }

    /** What Spark logs, twice, when it aborts the write: not the locations of all files, which a record would show. */
    @Override
    public String toString() {
      return staged.toString();
    }
  }
}
