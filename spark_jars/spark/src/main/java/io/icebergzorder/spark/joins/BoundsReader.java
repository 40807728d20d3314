package io.icebergzorder.spark.joins;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.stream.Stream;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.ManifestFileUtil;
import org.apache.iceberg.util.PartitionSet;
import org.apache.iceberg.util.Tasks;
import org.apache.iceberg.util.ThreadPools;

/** Reads the bounds of data files from manifests, without the delete files, whose bounds nothing here depends on. */
final class BoundsReader {
  private static final List<String> COLUMNS =
      List.of("file_path", "file_size_in_bytes", "partition", "record_count", "lower_bounds", "upper_bounds", "split_offsets");

  /** For more partitions, finding the manifests takes longer than reading them all. */
  private static final int MOST_PARTITIONS = 10_000;

  /** Reading more entries for each planned file takes longer than reading the files. */
  private static final long MOST_ENTRIES_FOR_A_FILE = 1000;

  /** Whether reading the entries of so many files is worthwhile for a scan of so many, at least one; these are planned if need be. */
  static boolean isWorthwhile(long entries, IntSupplier planned) {
    return entries <= MOST_ENTRIES_FOR_A_FILE || entries <= MOST_ENTRIES_FOR_A_FILE * planned.getAsInt();
  }

  private BoundsReader() {}

  /** The number of data files in a manifest; 0 if unknown. */
  static long files(ManifestFile manifest) {
    return Stream.of(manifest.addedFilesCount(), manifest.existingFilesCount()).filter(Objects::nonNull).mapToLong(each -> each).sum();
  }

  /**
   * The data files among a scan's tasks whose bounds hold none of the keys of one column. It reads each manifest of the scan's snapshot
   * at most once, whatever the number of columns. A file that it does not meet may hold all keys.
   */
  static Set<String> filesWithout(Table table, BatchScan scan, List<FileScanTask> tasks, List<ColumnKeys> keys) {
    PartitionSet partitions = PartitionSet.create(table.specs());
    tasks.forEach(task -> partitions.add(task.spec().specId(), task.partition()));
    List<ManifestFile> manifests =
        scan.snapshot().dataManifests(table.io()).stream()
            .filter(
                each ->
                    partitions.size() > MOST_PARTITIONS || ManifestFileUtil.canContainAny(each, partitions, table.specs()))
            .toList();
    if (!isWorthwhile(manifests.stream().mapToLong(BoundsReader::files).sum(), tasks::size)) {
      return Set.of();
    }
    Set<String> found = ConcurrentHashMap.newKeySet();
    visit(
        table,
        manifests,
        partitions,
        Long.MAX_VALUE,
        1,
        file -> {
          if (!keys.stream().allMatch(each -> each.mayBeIn(file))) {
            found.add(file.location());
          }
        });
    return found;
  }

  /** Visits every {@code step}-th of the first {@code most} files of each manifest, in some partitions (null: all), several at a time. */
  static void visit(
      Table table, List<ManifestFile> manifests, PartitionSet partitions, long most, long step, Consumer<DataFile> visitor) {
    Tasks.foreach(manifests)
        .executeWith(manifests.size() > 1 ? ThreadPools.getWorkerPool() : null)
        .stopOnFailure()
        .throwFailureWhenFinished()
        .run(
            manifest -> {
              try (ManifestReader<DataFile> reader = ManifestFiles.read(manifest, table.io(), table.specs()).select(COLUMNS)) {
                if (partitions != null) {
                  reader.filterPartitions(partitions);
                }
                long place = 0;
                for (DataFile file : reader) {
                  if (place == most) {
                    break;
                  }
                  if (place++ % step == 0) {
                    visitor.accept(file);
                  }
                }
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
  }
}
