package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.executor.OutputMetrics;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import scala.Function2;

/**
 * Writers of one file after the other, each by a writer of Iceberg's own.
 *
 * @param schema the type of the rows that are written; rows may have further fields after those
 * @param fileField the field with a row's destination; negative if a task has one file, of the task's number
 * @param placesOfFile the lower bits of a destination that do not belong to the number of the file
 * @param tasksOfFiles by file, the number of the task that writes it
 */
record GroupWriterFactory(DataWriterFactory staged, StructType schema, int fileField, int placesOfFile, Shared<int[]> tasksOfFiles)
    implements DataWriterFactory {
  @Override
  public DataWriter<InternalRow> createWriter(int partition, long attempt) {
    return new Writer(this, partition, attempt);
  }

  /** What a task has written. No record: Spark may be told to send it by Kryo, which knows none, nor lists that do not change. */
  static final class TaskFiles implements WriterCommitMessage {
    private static final long serialVersionUID = 1L;

    private final WriterCommitMessage[] staged;

    TaskFiles(List<WriterCommitMessage> staged) {
      this.staged = staged.toArray(WriterCommitMessage[]::new);
    }

    List<DataFile> files() {
      return Arrays.stream(staged).flatMap(each -> SparkInternals.files(each).stream()).toList();
    }
  }

  private static final class Writer implements DataWriter<InternalRow> {
    private static final int NO_FILE = -1;

    private final GroupWriterFactory factory;
    private final int partition;
    private final long attempt;
    private final List<DataWriter<InternalRow>> writers = new ArrayList<>();
    private final List<WriterCommitMessage> finished = new ArrayList<>();
    private int file = NO_FILE;
    private DataWriter<InternalRow> writer;

    // Iceberg asks a row for every field with the field's type, and Spark's binary rows then look up how to read that type
    // each time: a tenth of the time of a rewrite. So it gets ready values, in one row, of which writers keep nothing.
    private final Function2<SpecializedGetters, Object, Object>[] accessors;
    private final Object[] values;
    private final InternalRow ready;

    @SuppressWarnings("unchecked")
    Writer(GroupWriterFactory factory, int partition, long attempt) {
      this.factory = factory;
      this.partition = partition;
      this.attempt = attempt;
      this.accessors =
          Arrays.stream(factory.schema.fields())
              .map(field -> InternalRow.getAccessor(field.dataType(), false))
              .toArray(Function2[]::new);
      this.values = new Object[accessors.length];
      this.ready = new GenericInternalRow(values);
    }

    @Override
    public void write(InternalRow row) throws IOException {
      int next = factory.fileField < 0 ? partition : (int) (row.getLong(factory.fileField) >>> factory.placesOfFile);
      if (next != file) {
        begin(next);
      }
      for (int field = 0; field < values.length; field++) {
        values[field] = row.isNullAt(field) ? null : accessors[field].apply(row, field);
      }
      writer.write(ready);
    }

    /** Begins a file. Two writers of one number would write to one place. */
    private void begin(int next) throws IOException {
      if (next < file || factory.tasksOfFiles.value()[next] != partition) {
        throw new IllegalStateException(
            "Cannot write file %s of a rewrite in task %s after file %s, because it is not the next one there"
                .formatted(next, partition, file));
      }
      finish();
      file = next;
      writer = factory.staged.createWriter(next, attempt);
      writers.add(writer);
    }

    private void finish() throws IOException {
      if (writer != null) {
        finished.add(writer.commit());
        writer = null;
      }
    }

    /** Finishes the files. A task that was told to stop deletes them: nobody takes what it returns. */
    @Override
    public WriterCommitMessage commit() throws IOException {
      finish();
      if (TaskContext.get().isInterrupted()) {
        throw new TaskKilledException("the rewrite was cancelled");
      }
      TaskFiles files = new TaskFiles(finished);
      // Iceberg's writers tell Spark of one file each, and the last to be told stands.
      OutputMetrics metrics = TaskContext.get().taskMetrics().outputMetrics();
      metrics.setBytesWritten(files.files().stream().mapToLong(DataFile::fileSizeInBytes).sum());
      metrics.setRecordsWritten(files.files().stream().mapToLong(DataFile::recordCount).sum());
      return files;
    }

    /** Deletes the files, those that are finished, too. */
    @Override
    public void abort() throws IOException {
      IOException failure = null;
      for (DataWriter<InternalRow> each : writers) {
        try {
          each.abort();
        } catch (IOException e) {
          failure = e;
        }
      }
      if (failure != null) {
        throw failure;
      }
    }

    @Override
    public void close() throws IOException {
      for (DataWriter<InternalRow> each : writers) {
        each.close();
      }
    }
  }
}
