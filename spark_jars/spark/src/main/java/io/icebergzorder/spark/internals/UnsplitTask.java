package io.icebergzorder.spark.internals;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.Expression;
import org.apache.spark.TaskContext;

/** A scan task that says what another one does, and is not split any further. */
public interface UnsplitTask extends FileScanTask {
  /** Some row groups of a data file, by a range of bytes. Iceberg's own parts refuse to be split, as a staged scan does. */
  record FilePart(FileScanTask task, long start, long length) implements UnsplitTask {}

  /** A scan task that is read in one partition of Spark's or not at all; the weight is the size that Iceberg is given for it. */
  record PlacedTask(FileScanTask task, int place, long weight) implements UnsplitTask {
    /** Places tasks so that Iceberg puts together again what is together, if it packs bins of this {@link #weight}, one at a time. */
    static List<FileScanTask> of(List<List<FileScanTask>> partitions) {
      // A bin is closed when the next task does not fit: all bins are full, and every task weighs something.
      long weight = weight(partitions);
      List<FileScanTask> placed = new ArrayList<>();
      for (int place = 0; place < partitions.size(); place++) {
        List<FileScanTask> tasks = partitions.get(place);
        for (int i = 0; i < tasks.size(); i++) {
          placed.add(new PlacedTask(tasks.get(i), place, i == 0 ? weight - tasks.size() + 1 : 1));
        }
      }
      return placed;
    }

    /** What the tasks of each partition weigh together. */
    static long weight(List<List<FileScanTask>> partitions) {
      return partitions.stream().mapToInt(List::size).max().orElse(1);
    }

    /** The data file, which whoever reads the task has to ask for. */
    @Override
    public DataFile file() {
      TaskContext reading = TaskContext.get();
      return reading == null ? task.file() : fileIn(reading.partitionId());
    }

    DataFile fileIn(int partition) {
      if (partition != place) {
        throw new IllegalStateException(
            "Cannot rewrite %s, because this Spark reads it in partition %s, and it was planned for partition %s"
                .formatted(task.file().location(), partition, place));
      }
      return task.file();
    }

    @Override
    public long sizeBytes() {
      return weight;
    }
  }

  FileScanTask task();

  @Override
  default DataFile file() {
    return task().file();
  }

  @Override
  default List<DeleteFile> deletes() {
    return task().deletes();
  }

  @Override
  default PartitionSpec spec() {
    return task().spec();
  }

  @Override
  default Schema schema() {
    return task().schema();
  }

  @Override
  default Expression residual() {
    return task().residual();
  }

  @Override
  default long start() {
    return task().start();
  }

  @Override
  default long length() {
    return task().length();
  }

  @Override
  default Iterable<FileScanTask> split(long targetSplitSize) {
    return List.of(this);
  }
}
