package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.executor.OutputMetrics;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.CollectionAccumulator;

/**
 * Writers of one file after the other, each by a writer of Iceberg's own, which get the fields of each row as ready
 * values, and that tell which files they have finished even when nobody takes the result of their task.
 */
record GroupWriterFactory(
    DataWriterFactory staged, StructType schema, FileNumbers files, CollectionAccumulator<String> locations)
    implements DataWriterFactory {
  /** How rows tell their file. */
  record FileNumbers(int field, Shared<int[]> tasks) implements Serializable {}

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

    /** The files, which are all of one file group. */
    List<DataFile> files() {
      return Arrays.stream(staged).flatMap(each -> SparkInternals.files(each).stream()).toList();
    }
  }

  private static final class Writer implements DataWriter<InternalRow> {
    private static final int NO_FILE = -1;

    private final GroupWriterFactory factory;
    private final int partition;
    private final long attempt;

    /** One row for all that Iceberg's writers ever see: writers of files keep nothing of it. */
    private final FieldValues fields;

    private final List<DataWriter<InternalRow>> writers = new ArrayList<>();
    private final List<WriterCommitMessage> finished = new ArrayList<>();
    private int file = NO_FILE;
    private DataWriter<InternalRow> writer;

    Writer(GroupWriterFactory factory, int partition, long attempt) {
      this.factory = factory;
      this.partition = partition;
      this.attempt = attempt;
      this.fields = new FieldValues(factory.schema);
    }

    @Override
    public void write(InternalRow row) throws IOException {
      int next = factory.files.field < 0 ? partition : row.getInt(factory.files.field);
      if (next != file) {
        begin(next);
      }
      writer.write(fields.of(row));
    }

    /** Begins a file. Two writers of one number would write to one place. */
    private void begin(int next) throws IOException {
      if (next < file || factory.files.tasks.value()[next] != partition) {
        throw new IllegalStateException(
            String.format(
                "Cannot write file %d of a rewrite in task %d after file %d, because it is not the next one there",
                next, partition, file));
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

    /** Finishes the files. */
    @Override
    public WriterCommitMessage commit() throws IOException {
      finish();
      if (TaskContext.get().isInterrupted()) {
        throw new TaskKilledException("the rewrite was cancelled");
      }
      TaskFiles files = new TaskFiles(finished);
      files.files().forEach(each -> factory.locations.add(each.location()));
      report(files.files());
      return files;
    }

    /** Tells Spark of all files: Iceberg's writers tell of one each, the last to be told stands. */
    private static void report(List<DataFile> files) {
      OutputMetrics metrics = TaskContext.get().taskMetrics().outputMetrics();
      metrics.setBytesWritten(files.stream().mapToLong(DataFile::fileSizeInBytes).sum());
      metrics.setRecordsWritten(files.stream().mapToLong(DataFile::recordCount).sum());
    }

    /** Deletes the files, those that are finished, too. */
    @Override
    public void abort() throws IOException {
      IOException failure = null;
      for (DataWriter<InternalRow> each : writers) {
        try {
          each.abort();
        } catch (IOException e) {
          failure = failure == null ? e : failure;
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
