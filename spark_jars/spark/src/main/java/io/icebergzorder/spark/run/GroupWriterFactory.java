package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.SparkInternals;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.CollectionAccumulator;
import scala.Function2;

/**
 * Writers that get the fields of each row as ready values, and that tell which files they have finished even when nobody
 * takes the result of their task.
 *
 * <p>Iceberg asks a row for every field together with the field's type, and Spark's binary rows then look up how to read
 * that type each time: a tenth of the time of a rewrite. Here it is looked up once for each writer.
 *
 * @param staged Iceberg's own writers
 * @param schema the type of the rows
 * @param locations where the locations of finished files go
 */
record GroupWriterFactory(DataWriterFactory staged, StructType schema, CollectionAccumulator<String> locations)
    implements DataWriterFactory {
  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task) {
    return new Writer(staged.createWriter(partition, task), schema, locations);
  }

  private static final class Writer implements DataWriter<InternalRow> {
    private final DataWriter<InternalRow> staged;
    private final CollectionAccumulator<String> locations;
    private final List<Function2<SpecializedGetters, Object, Object>> fields = new ArrayList<>();

    /** The one row that the writer ever sees: writers of files keep nothing of it. */
    private final Object[] values;

    private final InternalRow decoded;

    Writer(DataWriter<InternalRow> staged, StructType schema, CollectionAccumulator<String> locations) {
      this.staged = staged;
      this.locations = locations;
      for (StructField field : schema.fields()) {
        fields.add(InternalRow.getAccessor(field.dataType(), true));
      }
      values = new Object[fields.size()];
      decoded = new GenericInternalRow(values);
    }

    @Override
    public void write(InternalRow row) throws IOException {
      for (int field = 0; field < values.length; field++) {
        values[field] = fields.get(field).apply(row, field);
      }
      staged.write(decoded);
    }

    /**
     * Finishes the files. A task that has been killed deletes them: of a copy of another task, or of one whose driver no longer
     * waits, nobody else would.
     */
    @Override
    public WriterCommitMessage commit() throws IOException {
      WriterCommitMessage message = staged.commit();
      if (TaskContext.get().isInterrupted()) {
        throw new TaskKilledException("the rewrite was cancelled");
      }
      SparkInternals.locations(message).forEach(locations::add);
      return message;
    }

    @Override
    public void abort() throws IOException {
      staged.abort();
    }

    @Override
    public void close() throws IOException {
      staged.close();
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      return staged.currentMetricsValues();
    }
  }
}
