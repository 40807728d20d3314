package io.icebergzorder.spark.layout;

import io.icebergzorder.core.SampledRowGroups;
import io.icebergzorder.core.SampledRowGroups.RowGroup;
import io.icebergzorder.core.SampledRowGroups.SampledFile;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.internals.FilePart;
import io.icebergzorder.spark.plan.FileGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;

/** The scan of a file group that its sample is drawn from. */
record GroupScan(FileGroup group, long wanted, Optional<List<List<RowGroup>>> rowGroups) {
  /** Chooses what is read of each file group: each is sampled as densely as its share of the output files asks. */
  static List<GroupScan> of(List<FileGroup> groups, ZOrderOptions options) {
    long outputFiles = outputFiles(groups);
    long rows = rows(groups, options);
    return groups.stream()
        .map(group -> of(group, (rows * group.expectedFiles() + outputFiles - 1) / outputFiles, options.sampleSeed(), false))
        .toList();
  }

  static long rows(List<FileGroup> groups, ZOrderOptions options) {
    return options.sampleRows((int) Math.min(Integer.MAX_VALUE, outputFiles(groups)));
  }

  private static long outputFiles(List<FileGroup> groups) {
    return groups.stream().mapToLong(FileGroup::expectedFiles).sum();
  }

  private static GroupScan of(FileGroup group, long wanted, long seed, boolean areClusters) {
    List<SampledFile> files = group.files().stream().map(GroupScan::sampledFile).toList();
    return new GroupScan(group, wanted, SampledRowGroups.of(files, wanted, group.expectedFiles(), seed, areClusters));
  }

  GroupScan ofClusters(long seed) {
    return of(group, wanted, seed, true);
  }

  List<FileScanTask> tasks() {
    if (rowGroups.isEmpty()) {
      return group.files();
    }
    List<FileScanTask> tasks = new ArrayList<>();
    for (int i = 0; i < group.files().size(); i++) {
      FileScanTask file = group.files().get(i);
      for (RowGroup part : rowGroups.get().get(i)) {
        tasks.add(new FilePart(file, part.range().start(), part.range().end() - part.range().start()));
      }
    }
    return tasks;
  }

  private static SampledFile sampledFile(FileScanTask task) {
    DataFile file = task.file();
    // Row groups of Parquet only: Iceberg reads other formats by rules of theirs.
    boolean isKnown = file.format() == FileFormat.PARQUET && file.splitOffsets() != null;
    long sequenceNumber = file.dataSequenceNumber() == null ? 0 : file.dataSequenceNumber();
    return new SampledFile(
        file.location(),
        sequenceNumber,
        file.recordCount(),
        file.fileSizeInBytes(),
        isKnown ? file.splitOffsets() : List.of());
  }
}
