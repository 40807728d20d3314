package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.function.IntToLongFunction;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * Cuts files that are too large for one file group into several: a set above the limit is halved in the column, and at the place, that
 * files of the fewest bytes span; each half has a third of the bytes at least, if there is such a place.
 */
public final class GroupCuts {
  private static final long NEAR = 3;

  private final long[] sizes;
  private final List<Extents> columns = new ArrayList<>();

  private GroupCuts(DataFiles files, List<UnaryOperator<byte[]>> kept, double[] weights) {
    sizes = files.sizes();
    for (int place = 0; place < weights.length; place++) {
      if (weights[place] > 0) {
        columns.add(Extents.of(files.columns().get(place), kept.get(place)));
      }
    }
    if (columns.isEmpty()) {
      columns.add(new Extents(new long[sizes.length], new long[sizes.length]));
    }
  }

  /**
   * Cuts files into file groups.
   *
   * @param files the files, at least one
   * @param bound the bytes that a group may have, at least 1; a larger file is a group by itself
   * @param kept for each column, what new lower/upper bounds keep of a key of bytes
   * @param weights for each column, what it counts, 0 or more; columns of weight 0 are not cut in
   * @return the places of the files of each group, ascending
   */
  public static List<int[]> cut(DataFiles files, long bound, List<UnaryOperator<byte[]>> kept, double[] weights) {
    GroupCuts cuts = new GroupCuts(files, kept, weights);
    List<int[]> found = new ArrayList<>();
    Deque<int[]> parts = new ArrayDeque<>(List.of(IntStream.range(0, files.count()).toArray()));
    while (!parts.isEmpty()) {
      int[] part = parts.pop();
      if (part.length < 2 || Arrays.stream(part).mapToLong(file -> cuts.sizes[file]).sum() <= bound) {
        found.add(part);
      } else {
        Cut cut = cuts.halves(part);
        parts.push(cut.part(cut.place, part.length));
        parts.push(cut.part(0, cut.place));
      }
    }
    return found;
  }

  /**
   * The ranks of the bounds of each file in a column: a file without values lies above all values, one without bounds spans everything.
   */
  private record Extents(long[] lower, long[] upper) {
    static Extents of(ColumnBounds bounds, UnaryOperator<byte[]> kept) {
      Ranks ranks = Ranks.among(kept, bounds.lower(), bounds.upper());
      int[] below = ranks.of(bounds.lower());
      int[] above = ranks.of(bounds.upper());
      // Without any bounds there is width, too, or else cuts in that column would seem to cost nothing.
      int end = Math.max(1, ranks.size());
      long[] lower = new long[below.length];
      long[] upper = new long[below.length];
      for (int file = 0; file < lower.length; file++) {
        lower[file] = bounds.isBounded(file) ? below[file] : bounds.hasValues(file) ? 0 : end;
        // Of damaged bounds the lower one may be the larger.
        upper[file] = Math.max(lower[file], bounds.isBounded(file) ? above[file] : end);
      }
      return new Extents(lower, upper);
    }
  }

  /** The files in an order, and how many of them come before the place to cut. */
  private record Cut(int[] order, int place) {
    int[] part(int from, int to) {
      int[] files = Arrays.copyOfRange(order, from, to);
      Arrays.sort(files);
      return files;
    }
  }

  /** Halves two files or more; of equal places, the one that halves the bytes best, and then the first. */
  private Cut halves(int[] files) {
    long all = Arrays.stream(files).mapToLong(file -> sizes[file]).sum();
    long least = 0;
    long half = 0;
    Cut found = null;
    for (Extents column : columns) {
      int[] order = ordered(files, file -> column.lower[file] + column.upper[file]);
      long[] halves = lesserHalves(order);
      long[] spanning = spanning(order, column);
      boolean isAnyNear = Arrays.stream(halves).skip(1).anyMatch(each -> NEAR * each >= all);
      for (int place = 1; place < order.length; place++) {
        boolean isNear = NEAR * halves[place] >= all;
        long bytes = isAnyNear ? spanning[place] : Long.MAX_VALUE;
        boolean isBetter = found == null || bytes < least || bytes == least && halves[place] > half;
        if ((isNear || !isAnyNear) && isBetter) {
          least = bytes;
          half = halves[place];
          found = new Cut(order, place);
        }
      }
    }
    return found;
  }

  private static int[] ordered(int[] files, IntToLongFunction key) {
    return Arrays.stream(files)
        .boxed()
        .sorted(Comparator.comparingLong(key::applyAsLong))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** For each place between files, by how many come before it, the bytes of the lesser side. */
  private long[] lesserHalves(int[] order) {
    long all = Arrays.stream(order).mapToLong(file -> sizes[file]).sum();
    long[] halves = new long[order.length];
    long before = 0;
    for (int place = 1; place < order.length; place++) {
      before += sizes[order[place - 1]];
      halves[place] = Math.min(before, all - before);
    }
    return halves;
  }

  /** For each place between files, half way between their middles, the bytes that span it. */
  private long[] spanning(int[] order, Extents column) {
    int[] wide = Arrays.stream(order).filter(file -> column.lower[file] < column.upper[file]).toArray();
    int[] begins = ordered(wide, file -> column.lower[file]);
    int[] ends = ordered(wide, file -> column.upper[file]);
    long[] bytes = new long[order.length];
    long spanning = 0;
    int begun = 0;
    int ended = 0;
    for (int place = 1; place < order.length; place++) {
      // Four times the rank, so that it is a whole number; it never decreases.
      long at = middle(column, order[place - 1]) + middle(column, order[place]);
      while (begun < wide.length && 4 * column.lower[begins[begun]] < at) {
        spanning += sizes[begins[begun++]];
      }
      while (ended < wide.length && 4 * column.upper[ends[ended]] <= at) {
        spanning -= sizes[ends[ended++]];
      }
      bytes[place] = spanning;
    }
    return bytes;
  }

  private static long middle(Extents column, int file) {
    return column.lower[file] + column.upper[file];
  }
}
