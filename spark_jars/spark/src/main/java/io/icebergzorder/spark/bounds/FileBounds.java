package io.icebergzorder.spark.bounds;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.metrics.BoundedFiles;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.PartitionMap;

/**
 * Data files as their manifest entries describe them, with the lower/upper bounds of some columns. Only keys are kept of bounds: metrics of
 * many files take much memory.
 */
public final class FileBounds {
  private final Map<String, Integer> places = new HashMap<>();
  private final BoundedFiles files;

  public FileBounds(List<ClusteringColumn> columns, Table table, Consumer<Consumer<DataFile>> forEach) {
    List<BoundKeys> keys = columns.stream().map(column -> new BoundKeys(column, table.schema())).toList();
    PartitionMap<Integer> numbers = PartitionMap.create(table.specs());
    IntStream.Builder partitions = IntStream.builder();
    LongStream.Builder rows = LongStream.builder();
    LongStream.Builder sizes = LongStream.builder();
    forEach.accept(file -> {
      if (places.putIfAbsent(file.location(), places.size()) == null) {
        partitions.add(numbers.computeIfAbsent(file.specId(), file.partition(), numbers::size));
        keys.forEach(column -> column.add(file));
        rows.add(file.recordCount());
        sizes.add(file.fileSizeInBytes());
      }
    });
    files =
        new BoundedFiles(
            partitions.build().toArray(),
            rows.build().toArray(),
            sizes.build().toArray(),
            keys.stream().map(BoundKeys::bounds).toList());
  }

  public Set<String> locations() {
    return places.keySet();
  }

  /** A number that all files of a partition have, and no others; empty for files that were not seen. */
  public Optional<Integer> partition(String location) {
    return Optional.ofNullable(places.get(location)).map(place -> files.partitions()[place]);
  }

  public BoundedFiles all() {
    return files;
  }

  /** Some of them, by their locations; those that were not seen are left out. */
  public BoundedFiles of(List<String> locations) {
    return files.take(locations.stream().map(places::get).filter(Objects::nonNull).mapToInt(Integer::intValue).toArray());
  }
}
