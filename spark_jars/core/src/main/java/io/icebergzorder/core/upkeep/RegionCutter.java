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

/** Cuts files by their bounds. */
final class RegionCutter {
  /** A half of a cut across files has a third of the bytes at least, if there is such a place. */
  private static final long NEAR = 3;

  private static final double[] ALIKE = {};

  private final long[] sizes;
  private final List<Extents> columns = new ArrayList<>();

  RegionCutter(DataFiles files, UpkeepRequest request) {
    sizes = files.sizes();
    for (int place = 0; place < files.columns().size(); place++) {
      if (request.weights()[place] > 0) {
        columns.add(Extents.of(files.columns().get(place), request.kept().get(place)));
      }
    }
  }

  /**
   * The ranks of the bounds of each file in a column. A file without values lies above all values, one without bounds spans everything.
   *
   * <p>New files have what has no value last. So files without values come together, on the side of the largest values.
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
    Region before(boolean isClean) {
      return region(Arrays.copyOf(order, place), isClean);
    }

    Region after(boolean isClean) {
      return region(Arrays.copyOfRange(order, place, order.length), isClean);
    }

    private static Region region(int[] files, boolean isClean) {
      Arrays.sort(files);
      return new Region(files, isClean, ALIKE);
    }
  }

  /** All files as one region. */
  Region whole() {
    return new Region(IntStream.range(0, sizes.length).toArray(), true, ALIKE);
  }

  /** Cuts all files. */
  List<Region> cut(RegionSizes wanted) {
    List<Region> found = new ArrayList<>();
    Deque<Region> parts = new ArrayDeque<>(List.of(whole()));
    while (!parts.isEmpty()) {
      Region part = parts.pop();
      boolean isClean = part.isClean();
      Cut cut = null;
      if (Arrays.stream(part.files()).mapToLong(file -> sizes[file]).sum() > wanted.bound()) {
        cut = cleanCut(part.files(), wanted.least());
        if (cut == null && wanted.isAcross()) {
          cut = cutAcross(part.files());
          isClean = false;
        }
      }
      if (cut == null) {
        found.add(part);
      } else {
        parts.push(cut.after(isClean));
        parts.push(cut.before(isClean));
      }
    }
    return found;
  }

  /** The place that halves the bytes of some files best, of those that no file spans; null without any. */
  private Cut cleanCut(int[] files, long least) {
    long best = least - 1;
    Cut found = null;
    for (Extents column : columns) {
      int[] order = ordered(files, file -> column.lower[file]);
      long[] halves = lesserHalves(order);
      long end = -1;
      for (int place = 1; place < order.length; place++) {
        end = Math.max(end, column.upper[order[place - 1]]);
        if (end < column.lower[order[place]] && halves[place] > best) {
          best = halves[place];
          found = new Cut(order, place);
        }
      }
    }
    return found;
  }

  /** The place between the middles of some files, near the half of their bytes, that the fewest bytes span; null of one file. */
  private Cut cutAcross(int[] files) {
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
