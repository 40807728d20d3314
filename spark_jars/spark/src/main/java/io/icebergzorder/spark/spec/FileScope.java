package io.icebergzorder.spark.spec;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.CloseableIterable;

/** The data files that may match the filter of a rewrite. */
public record FileScope(Expression filter, boolean caseSensitive) {
  /** An order that is equal in both engines, for any order of manifests. */
  public static final Comparator<String> BY_BYTES =
      Comparator.comparing(location -> location.getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned);

  public static final Comparator<FileScanTask> BY_LOCATION = Comparator.comparing(task -> task.file().location(), BY_BYTES);

  private static final long MILLIS = 1000;

  /** The data files of a snapshot, with the delete files that apply to each. Reads manifests, but no data. */
  public List<FileScanTask> files(Table table, long snapshotId) {
    List<FileScanTask> files = new ArrayList<>();
    forEach(at(table, snapshotId).newScan(), files::add);
    return files;
  }

  /** Visits the same data files, this time with the lower/upper bounds of some columns, which are named as in the schema. */
  public void forEachWithBounds(Table table, long snapshotId, Collection<String> columns, Consumer<FileScanTask> visitor) {
    forEach(at(table, snapshotId).newScan().includeColumnStats(columns), visitor);
  }

  /**
   * Makes what tells which data files of a table are younger than so many seconds, by the snapshot of their data sequence number, or of
   * their addition in tables of version 1.
   */
  public static Predicate<FileScanTask> younger(Table table, long seconds, long at) {
    Set<Long> sequenceNumbers = new HashSet<>();
    Set<String> locations = new HashSet<>();
    for (Snapshot snapshot : table.snapshots()) {
      // Without the option, no file is too young, also with snapshots from a clock that is ahead.
      if (seconds == 0 || Math.floorDiv(at - snapshot.timestampMillis(), MILLIS) >= seconds) {
        continue;
      }
      if (snapshot.sequenceNumber() > 0) {
        sequenceNumbers.add(snapshot.sequenceNumber());
      } else {
        snapshot.addedDataFiles(table.io()).forEach(file -> locations.add(file.location()));
      }
    }
    return task -> {
      Long number = task.file().dataSequenceNumber();
      return number != null && number > 0 ? sequenceNumbers.contains(number) : locations.contains(task.file().location());
    };
  }

  /** Whether the manifest entry of a data file counts no row, so that filters skip it. If it holds rows, queries have not seen them. */
  public static boolean hasNoRows(FileScanTask task) {
    return task.file().recordCount() < 1;
  }

  /** The table with a snapshot as the newest of its main branch. */
  private static Table at(Table table, long snapshotId) {
    TableMetadata current = ((HasTableOperations) table).operations().current();
    TableMetadata metadata = TableMetadata.buildFrom(current).setBranchSnapshot(snapshotId, SnapshotRef.MAIN_BRANCH).build();
    return metadata == current ? table : new BaseTable(new StaticTableOperations(metadata, table.io()), table.name());
  }

  /** By data file, whether it is of a kind. */
  public static boolean[] flags(List<FileScanTask> files, Predicate<FileScanTask> kind) {
    boolean[] flags = new boolean[files.size()];
    IntStream.range(0, flags.length).forEach(place -> flags[place] = kind.test(files.get(place)));
    return flags;
  }

  private void forEach(TableScan scan, Consumer<FileScanTask> visitor) {
    try (CloseableIterable<FileScanTask> found = scan.filter(filter).caseSensitive(caseSensitive).ignoreResiduals().planFiles()) {
      found.forEach(visitor);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
