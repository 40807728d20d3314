package io.icebergzorder.core;

import io.icebergzorder.core.BytesByRank.LookedFor;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Measures the scan fraction of {@code column = value} among files that exist: the share of their bytes that their lower/upper bounds
 * do not rule out, on average over the values of rows. {@link ScanPrediction} says the same of files that layouts will make.
 *
 * <p>Bounds may be cut: a lower one is then below the least value, an upper one above the greatest, so that whole values may be
 * compared with them. A file that lacks one of them is always read if it has values.
 */
public final class ScanMeasurement {
  private ScanMeasurement() {}

  /** By file: the bounds of one column, of another state than {@link KeyColumn#VALUE} where there is none, and whether it has values. */
  public record Bounds(KeyColumn lower, KeyColumn upper, boolean[] hasValues) {}

  /**
   * A file group.
   *
   * @param lookedFor a sample of its rows, whose values are looked for
   * @param rows all of its rows
   * @param bytes by file
   * @param bounds by column of the sample, the bounds in these files
   */
  public record MeasuredGroup(Sample lookedFor, long rows, long[] bytes, List<Bounds> bounds) {}

  /** Measures one column; NaN if no sampled row has a value, or there is no byte. */
  public static double of(List<MeasuredGroup> groups, int ordinal) {
    List<LookedFor> lookedFor =
        groups.stream().map(group -> new LookedFor(group.lookedFor().columns().get(ordinal), group.rows())).toList();
    Ranks ranks = new Ranks(lookedFor.stream().map(LookedFor::sampled).toList(), UnaryOperator.identity());
    BytesByRank read = new BytesByRank(ranks);
    for (MeasuredGroup group : groups) {
      Bounds bounds = group.bounds().get(ordinal);
      for (int file = 0; file < group.bytes().length; file++) {
        boolean areKnown = bounds.lower().state(file) == KeyColumn.VALUE && bounds.upper().state(file) == KeyColumn.VALUE;
        int first = areKnown ? ranks.notBelow(bounds.lower(), file) : 0;
        int last = areKnown ? ranks.notAbove(bounds.upper(), file) : ranks.size() - 1;
        read.add(group.bytes()[file], first, bounds.hasValues()[file] ? last : -1);
      }
    }
    return read.average(lookedFor);
  }
}
