package io.icebergzorder.core;

import io.icebergzorder.core.BytesByRank.LookedFor;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Predicts the scan fraction of {@code column = value} for files that layouts will make: the share of their bytes that their
 * lower/upper bounds will not rule out, on average over the values of the rows.
 *
 * <p>The rows whose values are looked for have not made the layout: of rows that have, each lies in a box that was drawn around it.
 * The bounds of a file are taken from all sampled rows that it gets, its bytes from its share of them.
 */
public final class ScanPrediction {
  private ScanPrediction() {}

  /**
   * A file group whose rows a layout will send to files.
   *
   * @param fitted the sample that the layout was fitted to
   * @param heldOut another sample of the same rows; without rows, if the first one is of all there are
   * @param rows the rows of the group
   * @param bytes the bytes of the group
   */
  public record SampledGroup(Layout layout, Sample fitted, Sample heldOut, long rows, long bytes) {
    /** What a file with so many sampled rows gets of the group's rows or bytes, in whole ones, whose sums are the same in any order. */
    public long share(long whole, long ofRows) {
      return (long) Math.rint(ofRows * (double) whole / Math.max(1, fitted.rows() + heldOut.rows()));
    }

    /** The file of every row of one of the samples. */
    public int[] filesOf(Sample sample) {
      Placement placement = layout.placement();
      long[] packed = layout.packed(sample);
      int[] files = new int[packed.length];
      // Any number that differs from row to row: where rows are told apart by nothing else, they are spread.
      Arrays.setAll(files, row -> placement.file(packed[row], row * 0x9E3779B97F4A7C15L));
      return files;
    }

    /** The rows whose values are looked for. */
    public Sample lookedFor() {
      return heldOut.rows() > 0 ? heldOut : fitted;
    }
  }

  /** Predicts one column, of whose keys of bytes bounds keep so much; NaN if no sampled row has a value. */
  public static double of(List<SampledGroup> groups, int ordinal, UnaryOperator<byte[]> kept) {
    Stream<Sample> samples = groups.stream().flatMap(group -> Stream.of(group.fitted(), group.heldOut()));
    Ranks ranks = new Ranks(samples.map(sample -> sample.columns().get(ordinal)).toList(), kept);
    BytesByRank read = new BytesByRank(ranks);
    for (SampledGroup group : groups) {
      if (group.fitted().rows() == 0) {
        read.add(group.bytes(), 0, ranks.size() - 1);
      } else {
        addFiles(read, group, ordinal, ranks);
      }
    }
    return read.average(
        groups.stream().map(group -> new LookedFor(group.lookedFor().columns().get(ordinal), group.rows())).toList());
  }

  /** Predicts the same of files without bounds of the column, all of which are read; NaN if no sampled row has a value. */
  public static double withoutBounds(List<SampledGroup> groups, int ordinal) {
    return groups.stream().anyMatch(group -> group.lookedFor().columns().get(ordinal).hasValue()) ? 1 : Double.NaN;
  }

  private static void addFiles(BytesByRank read, SampledGroup group, int ordinal, Ranks ranks) {
    int files = group.layout().files();
    int[] first = new int[files];
    int[] last = new int[files];
    int[] rows = new int[files];
    Arrays.fill(first, Integer.MAX_VALUE);
    Arrays.fill(last, -1);
    for (Sample sample : List.of(group.fitted(), group.heldOut())) {
      int[] fileOf = group.filesOf(sample);
      for (int row = 0; row < sample.rows(); row++) {
        int file = fileOf[row];
        rows[file]++;
        int rank = ranks.of(sample.columns().get(ordinal), row);
        if (rank >= 0) {
          first[file] = Math.min(first[file], rank);
          last[file] = Math.max(last[file], rank);
        }
      }
    }
    for (int file = 0; file < files; file++) {
      read.add(group.share(group.bytes(), rows[file]), first[file], last[file]);
    }
  }
}
