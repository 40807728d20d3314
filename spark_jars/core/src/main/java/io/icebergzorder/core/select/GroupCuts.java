package io.icebergzorder.core.select;

import io.icebergzorder.core.Beginning;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Splits file groups that are too large: cuts each in the column in which the fewest bytes span the cut. */
public final class GroupCuts {
  private static final long THOUSANDTHS = 1000;

  /** Of a file; more are a mistake of its writer, and products with ranks must stay below 2^63. */
  private static final long MOST_ROWS = 1L << 32;

  private GroupCuts() {}

  /**
   * A file group.
   *
   * @param files the places of its files, ascending
   * @param extents for each column, the share of the partition's rows that lie between the group's bounds, in thousandths from 1 to 1,000;
   *     the rows of each file are spread evenly over the ranks between its bounds, in whole numbers, so that no fraction differs between the
   *     engines
   */
  public record Group(int[] files, int[] extents) {}

  /**
   * Cuts files into file groups. A part that needs n groups is cut where n / 2 of them end, so that 10 TiB at 1 TiB are 10 groups; halves
   * would be 16.
   *
   * @param files all files of the partition
   * @param chosen the places of the files to cut, at least one, ascending
   * @param mostBytes the bytes that a group may have, at least 1; a larger file is a group by itself
   * @param mostFiles the files that it may have, at least 1
   * @param kept for each column, what new lower/upper bounds keep of a key of bytes
   * @param weights for each column, what it counts, 0 or more; columns of weight 0 are not cut in
   */
  public static List<Group> cut(
      BoundedFiles files, int[] chosen, long mostBytes, long mostFiles, List<Beginning> kept, double[] weights) {
    long[] sizes = files.sizes();
    List<Extents> columns = IntStream.range(0, weights.length).mapToObj(i -> Extents.of(files.columns().get(i), kept.get(i))).toList();
    List<Extents> counting = new ArrayList<>(IntStream.range(0, weights.length).filter(i -> weights[i] > 0).mapToObj(columns::get).toList());
    if (counting.isEmpty()) {
      counting.add(new Extents(new long[sizes.length], new long[sizes.length]));
    }
    List<Group> found = new ArrayList<>();
    Deque<int[]> parts = new ArrayDeque<>(List.of(chosen));
    while (!parts.isEmpty()) {
      int[] part = parts.pop();
      long size = Arrays.stream(part).mapToLong(file -> sizes[file]).sum();
      long count = Math.max((size - 1) / mostBytes, (part.length - 1) / mostFiles) + 1;
      if (part.length < 2 || count < 2) {
        found.add(new Group(part, IntStream.range(0, weights.length).map(i -> columns.get(i).extent(part, rows(files, i))).toArray()));
      } else {
        // Divided first: the product would overflow.
        long first = size / count * (count / 2);
        Cut cut = counting.stream().map(column -> column.cut(part, sizes, first)).min(Comparator.comparingLong(Cut::spanning)).orElseThrow();
        parts.push(cut.second);
        parts.push(cut.first);
      }
    }
    return found;
  }

  /** The rows of each file, none where it has no values of a column. */
  private static long[] rows(BoundedFiles files, int column) {
    ColumnBounds bounds = files.columns().get(column);
    return IntStream.range(0, files.count()).mapToLong(file -> bounds.hasValues(file) ? Math.min(files.rows()[file], MOST_ROWS) : 0).toArray();
  }

  /** Two parts, and the bytes of the files that span the place between them. */
  private record Cut(long spanning, int[] first, int[] second) {}

  /** The ranks of the bounds of each file in a column: a file without values lies above all values, one without bounds spans everything. */
  private record Extents(long[] lower, long[] upper) {
    static Extents of(ColumnBounds bounds, Beginning kept) {
      Ranks ranks = Ranks.among(kept, bounds.lower(), bounds.upper());
      long[] lower = Arrays.stream(ranks.of(bounds.lower())).asLongStream().toArray();
      long[] upper = Arrays.stream(ranks.of(bounds.upper())).asLongStream().toArray();
      for (int file = 0; file < lower.length; file++) {
        if (!bounds.isBounded(file)) {
          // Without any bounds there is width, too, or else cuts in that column would seem to cost nothing.
          upper[file] = Math.max(1, ranks.size());
          lower[file] = bounds.hasValues(file) ? 0 : upper[file];
        }
        // Of damaged bounds the lower one may be the larger.
        upper[file] = Math.max(lower[file], upper[file]);
      }
      return new Extents(lower, upper);
    }

    /** The share of all rows that lie between the bounds of some files, in thousandths, rounded up. */
    int extent(int[] part, long[] rows) {
      long most = Arrays.stream(part).mapToLong(file -> upper[file]).max().orElseThrow();
      long least = Arrays.stream(part).mapToLong(file -> lower[file]).min().orElseThrow();
      long between = 0;
      for (int file = 0; file < rows.length; file++) {
        long inside = Math.min(upper[file], most) - Math.max(lower[file], least);
        long width = upper[file] - lower[file];
        if (inside >= 0) {
          // Rows of one value are inside together, or not at all.
          between += width == 0 ? rows[file] : rows[file] * inside / width;
        }
      }
      long whole = LongStream.of(rows).sum();
      return (int) (whole == 0 ? THOUSANDTHS : Math.max(1, (THOUSANDTHS * between + whole - 1) / whole));
    }

    /** Cuts two files or more after about {@code size} bytes, in the order of their middles. */
    Cut cut(int[] part, long[] sizes, long size) {
      int[] order = Arrays.stream(part).boxed().sorted(Comparator.comparingLong(this::middle)).mapToInt(Integer::intValue).toArray();
      int count = 0;
      long uneven = Long.MAX_VALUE;
      long before = 0;
      for (int place = 1; place < order.length; place++) {
        before += sizes[order[place - 1]];
        if (Math.abs(before - size) < uneven) {
          uneven = Math.abs(before - size);
          count = place;
        }
      }
      // Four times the rank, so that it is a whole number.
      long at = middle(order[count - 1]) + middle(order[count]);
      long spanning = Arrays.stream(part).filter(file -> 4 * lower[file] < at && at < 4 * upper[file]).mapToLong(file -> sizes[file]).sum();
      return new Cut(
          spanning, Arrays.stream(order, 0, count).sorted().toArray(), Arrays.stream(order, count, order.length).sorted().toArray());
    }

    private long middle(int file) {
      return lower[file] + upper[file];
    }
  }
}
