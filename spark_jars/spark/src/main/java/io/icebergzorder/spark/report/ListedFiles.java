package io.icebergzorder.spark.report;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.spark.bounds.BoundKeys;
import io.icebergzorder.spark.plan.AddedBy;
import io.icebergzorder.spark.queries.FileCondition;
import io.icebergzorder.spark.queries.FilePartition;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeMap;

/**
 * Collects what a report says of data files: numbers and keys, by the place at which a file comes, and never the file itself. Manifests
 * are read by several threads, so that files come in any order; a report has them by their locations.
 */
final class ListedFiles {
  private final Table table;
  private final List<BoundKeys> columns = new ArrayList<>();
  private final List<FileCondition> conditions;
  private final AddedBy addedBy;

  private final List<byte[]> locations = new ArrayList<>();
  private final IntStream.Builder partitionOf = IntStream.builder();
  private final List<long[]> numbers = new ArrayList<>();
  private final BitSet ofOldSpecs = new BitSet();
  private final BitSet withDeletes = new BitSet();
  private final List<BitSet> read = new ArrayList<>();
  private final Set<String> positionDeletes = new HashSet<>();
  private final Set<String> equalityDeletes = new HashSet<>();
  private final Map<Integer, StructLikeMap<Integer>> numberOf = new HashMap<>();
  private final List<FilePartition> partitions = new ArrayList<>();

  ListedFiles(
      Table table, List<ClusteringColumn> named, List<Types.NestedField> fields, List<FileCondition> conditions, AddedBy addedBy) {
    this.table = table;
    for (int place = 0; place < named.size(); place++) {
      columns.add(new BoundKeys(named.get(place), fields.get(place)));
    }
    this.conditions = conditions;
    this.addedBy = addedBy;
    conditions.forEach(condition -> read.add(new BitSet()));
  }

  void add(FileScanTask task) {
    DataFile file = task.file();
    int place = locations.size();
    locations.add(file.location().getBytes(StandardCharsets.UTF_8));
    partitionOf.add(partition(file));
    numbers.add(new long[] {file.recordCount(), file.fileSizeInBytes(), addedBy.snapshotOf(file)});
    columns.forEach(column -> column.add(file));
    ofOldSpecs.set(place, file.specId() != table.spec().specId());
    withDeletes.set(place, !task.deletes().isEmpty());
    for (int i = 0; i < conditions.size(); i++) {
      read.get(i).set(place, conditions.get(i).mayMatch(file));
    }
    for (DeleteFile delete : task.deletes()) {
      (delete.content() == FileContent.EQUALITY_DELETES ? equalityDeletes : positionDeletes).add(delete.location());
    }
  }

  private int partition(DataFile file) {
    PartitionSpec spec = table.specs().get(file.specId());
    StructLikeMap<Integer> ofSpec =
        numberOf.computeIfAbsent(file.specId(), each -> StructLikeMap.create(spec.partitionType()));
    Integer number = ofSpec.get(file.partition());
    if (number == null) {
      number = partitions.size();
      ofSpec.put(file.partition(), number);
      partitions.add(new FilePartition(spec, file.partition()));
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
        IntStream.range(0, locations.size())
            .boxed()
            .sorted((one, other) -> Arrays.compareUnsigned(locations.get(one), locations.get(other)))
            .mapToInt(Integer::intValue)
            .toArray();

    private final int[] partitionNumbers = new int[order.length];
    private final List<FilePartition> inOrder = new ArrayList<>();

    private Ordered() {
      int[] collected = partitionOf.build().toArray();
      int[] renumbered = new int[partitions.size()];
      Arrays.fill(renumbered, -1);
      for (int place = 0; place < order.length; place++) {
        int number = collected[order[place]];
        if (renumbered[number] < 0) {
          renumbered[number] = inOrder.size();
          inOrder.add(partitions.get(number));
        }
        partitionNumbers[place] = renumbered[number];
      }
    }

    DataFiles files() {
      List<ColumnBounds> bounds = columns.stream().map(column -> column.bounds().take(order)).toList();
      return new DataFiles(partitionNumbers, numbers(0), numbers(1), bounds);
    }

    /** The snapshot that added each file. */
    long[] addedBy() {
      return numbers(2);
    }

    private long[] numbers(int which) {
      return Arrays.stream(order).mapToLong(file -> numbers.get(file)[which]).toArray();
    }

    /** The partitions by their numbers. */
    List<FilePartition> partitions() {
      return inOrder;
    }

    boolean[] ofOldSpecs() {
      return flags(ofOldSpecs);
    }

    boolean[] withDeletes() {
      return flags(withDeletes);
    }

    /** Which files one of the conditions leaves. */
    boolean[] read(int condition) {
      return flags(read.get(condition));
    }

    private boolean[] flags(BitSet set) {
      boolean[] flags = new boolean[order.length];
      for (int place = 0; place < flags.length; place++) {
        flags[place] = set.get(order[place]);
      }
      return flags;
    }

    int positionDeleteFiles() {
      return positionDeletes.size();
    }

    int equalityDeleteFiles() {
      return equalityDeletes.size();
    }
  }
}
