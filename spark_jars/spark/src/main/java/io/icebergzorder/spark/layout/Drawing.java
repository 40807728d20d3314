package io.icebergzorder.spark.layout;

import io.icebergzorder.core.SampledRowGroups.RowGroup;
import java.io.Serializable;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;

/** Which rows are drawn: those whose hashes lie below a threshold of their row group; the next ones are held out. */
record Drawing(HashMap<UTF8String, SampledFile> files, SampledFile other, int groups, long last) implements Serializable {
  private static final BigInteger HASHES = BigInteger.ONE.shiftLeft(64);
  private static final BigInteger SMALLEST_HASH = BigInteger.valueOf(Long.MIN_VALUE);

  /** Draws so many samples of the same size from each group, of which all but the first are held out. */
  static Drawing of(List<GroupScan> scans, int samples) {
    HashMap<UTF8String, SampledFile> files = new HashMap<>();
    SampledFile other = null;
    for (int group = 0; group < scans.size(); group++) {
      GroupScan scan = scans.get(group);
      if (scan.rowGroups().isEmpty()) {
        other = SampledFile.whole(group, scan, samples);
      }
      for (int i = 0; i < scan.group().files().size(); i++) {
        UTF8String path = UTF8String.fromString(scan.group().files().get(i).file().location());
        if (scan.rowGroups().isEmpty()) {
          files.put(path, other);
        } else if (!scan.rowGroups().get().get(i).isEmpty()) {
          files.put(path, SampledFile.parts(group, scan.rowGroups().get().get(i), samples));
        }
      }
    }
    boolean isOneWhole = scans.size() == 1 && other != null;
    long last = files.values().stream().flatMapToLong(file -> Arrays.stream(file.heldOut)).max().orElse(Long.MAX_VALUE);
    return new Drawing(isOneWhole ? new HashMap<>() : files, other, scans.size(), last);
  }

  /** The signed hash below which {@code share} of {@code rows} rows fall, on average. */
  static long threshold(long share, long rows) {
    return BigInteger.valueOf(share).multiply(HASHES).divide(BigInteger.valueOf(rows)).add(SMALLEST_HASH).longValueExact();
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
    static SampledFile whole(int group, GroupScan scan, int samples) {
      long rows = scan.group().rows();
      return new SampledFile(
          group,
          0,
          new long[1],
          new long[] {lastHash(scan.wanted(), rows)},
          new long[] {lastHash(samples * scan.wanted(), rows)});
    }

    static SampledFile parts(int group, List<RowGroup> read, int samples) {
      return new SampledFile(
          group,
          read.get(0).number(),
          read.stream().mapToLong(RowGroup::firstPosition).toArray(),
          read.stream().mapToLong(part -> lastHash(part.sampledRows(), part.rows())).toArray(),
          read.stream().mapToLong(part -> lastHash(samples * part.sampledRows(), part.rows())).toArray());
    }

    private static long lastHash(long share, long rows) {
      return share >= rows ? Long.MAX_VALUE : threshold(share, rows) - 1;
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
