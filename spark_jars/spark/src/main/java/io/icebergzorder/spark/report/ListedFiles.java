package io.icebergzorder.spark.report;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.spark.bounds.BoundKeys;
import io.icebergzorder.spark.plan.AddedBy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeMap;

/**
 * Collects what a report says of data files: numbers and keys, and never the file itself. Manifests are read by several threads, so that
 * files come in any order; a report has them by their locations.
 */
final class ListedFiles {
  private final Table table;
  private final List<BoundKeys> columns = new ArrayList<>();
  private final AddedBy addedBy;
  private final List<Listed> files = new ArrayList<>();
  private final Map<Integer, StructLikeMap<Integer>> numberOf = new HashMap<>();
  private int partitions;

  /** A file, and the number of its partition as it came. */
  private record Listed(
      byte[] location, int partition, long rows, long size, long addedBy, boolean isOfOldSpec, boolean hasDeletes) {}

  ListedFiles(Table table, List<ClusteringColumn> named, List<Types.NestedField> fields, AddedBy addedBy) {
    this.table = table;
    for (int place = 0; place < named.size(); place++) {
      columns.add(new BoundKeys(named.get(place), fields.get(place)));
    }
    this.addedBy = addedBy;
  }

  void add(FileScanTask task) {
    DataFile file = task.file();
    columns.forEach(column -> column.add(file));
    files.add(
        new Listed(
            file.location().getBytes(StandardCharsets.UTF_8),
            partition(file),
            file.recordCount(),
            file.fileSizeInBytes(),
            addedBy.snapshotOf(file),
            file.specId() != table.spec().specId(),
            !task.deletes().isEmpty()));
  }

  private int partition(DataFile file) {
    PartitionSpec spec = table.specs().get(file.specId());
    StructLikeMap<Integer> ofSpec =
        numberOf.computeIfAbsent(file.specId(), each -> StructLikeMap.create(spec.partitionType()));
    Integer number = ofSpec.get(file.partition());
    if (number == null) {
      number = partitions++;
      ofSpec.put(file.partition(), number);
    }
    return number;
  }

  /** All files, in the order of their locations. */
  Ordered ordered() {
    return new Ordered();
  }

  /** What was collected, in the order of the files' locations, and with partitions numbered as they come in it. */
  final class Ordered {
    private final int[] order =
        IntStream.range(0, files.size())
            .boxed()
            .sorted((one, other) -> Arrays.compareUnsigned(files.get(one).location, files.get(other).location))
            .mapToInt(Integer::intValue)
            .toArray();

    private final List<Listed> inOrder = Arrays.stream(order).mapToObj(files::get).toList();

    private Ordered() {}

    DataFiles files() {
      Map<Integer, Integer> renumbered = new HashMap<>();
      inOrder.forEach(file -> renumbered.putIfAbsent(file.partition, renumbered.size()));
      List<ColumnBounds> bounds = columns.stream().map(column -> column.bounds().take(order)).toList();
      return new DataFiles(
          inOrder.stream().mapToInt(file -> renumbered.get(file.partition)).toArray(),
          inOrder.stream().mapToLong(Listed::rows).toArray(),
          inOrder.stream().mapToLong(Listed::size).toArray(),
          bounds);
    }

    /** The snapshot that added each file. */
    long[] addedBy() {
      return inOrder.stream().mapToLong(Listed::addedBy).toArray();
    }

    boolean[] ofOldSpecs() {
      boolean[] flags = new boolean[order.length];
      IntStream.range(0, flags.length).forEach(file -> flags[file] = inOrder.get(file).isOfOldSpec);
      return flags;
    }

    boolean[] withDeletes() {
      boolean[] flags = new boolean[order.length];
      IntStream.range(0, flags.length).forEach(file -> flags[file] = inOrder.get(file).hasDeletes);
      return flags;
    }
  }
}
