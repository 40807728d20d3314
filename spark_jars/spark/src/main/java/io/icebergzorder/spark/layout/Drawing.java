package io.icebergzorder.spark.layout;

import io.icebergzorder.core.SampledRowGroups;
import io.icebergzorder.core.SampledRowGroups.RowGroup;
import io.icebergzorder.spark.internals.UnsplitTask.FilePart;
import io.icebergzorder.spark.plan.FileGroup;
import java.io.Serializable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.function.ToLongFunction;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.spark.unsafe.types.UTF8String;

/** Which rows are drawn: those whose hashes lie below a threshold of their row group; as many of the next ones are held out. */
final class Drawing implements Serializable {
  private static final long serialVersionUID = 1L;
  /** The one that a layout is fitted to, and the one that is held out of it. */
  static final int SAMPLES = 2;
  private static final BigInteger HASHES = BigInteger.ONE.shiftLeft(64);
  private static final BigInteger SMALLEST_HASH = BigInteger.valueOf(Long.MIN_VALUE);

  private final int groups;
  /** By path; empty if all files are drawn from as {@link #other} says. */
  private final HashMap<UTF8String, SampledFile> files = new HashMap<>();
  private SampledFile other;
  private final long last;
  // Only the driver asks for these.
  private final transient List<FileScanTask> tasks = new ArrayList<>();
  private final transient boolean[] areWhole;

  /** Chooses what is read of each file group for so many rows: some of its row groups, more if they are clusters, or all. */
  Drawing(List<FileGroup> groups, ToLongFunction<FileGroup> wanted, long seed, boolean areClusters) {
    this.groups = groups.size();
    this.areWhole = new boolean[groups.size()];
    for (int number = 0; number < areWhole.length; number++) {
      FileGroup group = groups.get(number);
      long rows = wanted.applyAsLong(group);
      Optional<List<List<RowGroup>>> read =
          SampledRowGroups.of(
              group.files().stream().map(Drawing::described).toList(), rows, group.expectedFiles(), seed, areClusters);
      areWhole[number] = read.isEmpty();
      if (read.isEmpty()) {
        other = SampledFile.whole(number, rows, group.rows());
        tasks.addAll(group.files());
        group.locations().forEach(location -> files.put(UTF8String.fromString(location), other));
      } else {
        addParts(number, group.files(), read.get());
      }
    }
    last = files.values().stream().flatMapToLong(file -> Arrays.stream(file.heldOut)).max().orElse(Long.MAX_VALUE);
    if (this.groups == 1 && other != null) {
      files.clear();
    }
  }

  private void addParts(int group, List<FileScanTask> of, List<List<RowGroup>> read) {
    for (int place = 0; place < read.size(); place++) {
      FileScanTask file = of.get(place);
      for (RowGroup part : read.get(place)) {
        tasks.add(new FilePart(file, part.range().start(), part.range().end() - part.range().start()));
      }
      if (!read.get(place).isEmpty()) {
        files.put(UTF8String.fromString(file.file().location()), SampledFile.parts(group, read.get(place)));
      }
    }
  }

  private static SampledRowGroups.SampledFile described(FileScanTask task) {
    DataFile file = task.file();
    // Row groups of Parquet only: Iceberg reads other formats by rules of theirs.
    boolean isKnown = file.format() == FileFormat.PARQUET && file.splitOffsets() != null;
    long sequenceNumber = file.dataSequenceNumber() == null ? 0 : file.dataSequenceNumber();
    return new SampledRowGroups.SampledFile(
        file.location(),
        sequenceNumber,
        file.recordCount(),
        file.fileSizeInBytes(),
        isKnown ? file.splitOffsets() : List.of());
  }

  /** What is read. */
  List<FileScanTask> tasks() {
    return tasks;
  }

  /** Whether all row groups of a file group are read. */
  boolean isWhole(int group) {
    return areWhole[group];
  }

  /** A row's row group in the upper 32 bits, its file group in the lower (plus the number of groups if it is held out), or -1. */
  long draw(UTF8String path, long position, long hash) {
    // Most rows end here, before their file is looked up by its path.
    if (hash > last) {
      return -1;
    }
    SampledFile file = files.isEmpty() ? other : files.get(path);
    int place = file.place(position);
    if (hash <= file.fitted()[place]) {
      return (long) (file.first() + place) << 32 | file.group();
    }
    return hash <= file.heldOut()[place] ? (long) (file.first() + place) << 32 | groups + file.group() : -1;
  }

  private record SampledFile(int group, int first, long[] positions, long[] fitted, long[] heldOut) implements Serializable {
    static SampledFile whole(int group, long wanted, long rows) {
      return new SampledFile(group, 0, new long[1], new long[] {lastHash(wanted, rows)}, new long[] {lastHash(SAMPLES * wanted, rows)});
    }

    static SampledFile parts(int group, List<RowGroup> read) {
      return new SampledFile(
          group,
          read.get(0).number(),
          read.stream().mapToLong(RowGroup::firstPosition).toArray(),
          read.stream().mapToLong(part -> lastHash(part.sampledRows(), part.rows())).toArray(),
          read.stream().mapToLong(part -> lastHash(SAMPLES * part.sampledRows(), part.rows())).toArray());
    }

    /** The signed hash up to which {@code share} of {@code rows} rows fall, on average. */
    private static long lastHash(long share, long rows) {
      return share >= rows
          ? Long.MAX_VALUE
          : BigInteger.valueOf(share)
              .multiply(HASHES)
              .divide(BigInteger.valueOf(rows))
              .add(SMALLEST_HASH)
              .longValueExact() - 1;
    }

    /** The place of a row's row group among those that are read. */
    int place(long position) {
      int place = positions.length - 1;
      while (positions[place] > position) {
        place--;
      }
      return place;
    }
  }
}
