package io.icebergzorder.core.metrics;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.core.Sample;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Made-up rows of data files, spread evenly between the bounds of each file.
 *
 * <p>Without reading rows, a file's rows are assumed to be spread evenly between its lower and upper bounds, independently in each column. A
 * layout fitted to such rows shows what a rewrite can attain, and their values serve as filters. If columns are correlated within files, a
 * layout of the real rows is tighter.
 *
 * <p>The places of the rows are an additive recurrence on powers of the inverse of the root of x^(d+1) = x + 1 (M. Roberts, The
 * Unreasonable Effectiveness of Quasirandom Sequences, 2018). It fills a box evenly however many rows are drawn, and needs no seed.
 *
 * @param sample the rows' keys. A column is NULL in the share of a file's rows that have no value; where a file has no bounds, its values
 *     are spread over those of all files, and are NULL if no file has any
 * @param places the place of the file of each row, ascending
 */
public record SpreadRows(Sample sample, int[] places) {
  private static final long ROWS_OF_A_FILE = 200;
  private static final long LEAST_ROWS = 20_000;
  private static final long MOST_ROWS = 40_000;
  private static final int ROOT_STEPS = 64;
  private static final double TWO_TO_63 = 0x1p63;
  private static final Map<String, Double> LARGEST = Map.of("float", (double) Float.MAX_VALUE, "double", Double.MAX_VALUE);
  /** Types whose values may be of any length; the keys of others are numbers of as many bytes. */
  private static final Set<String> OF_ANY_LENGTH = Set.of("string", "binary");

  /** The number of rows to spread for the figures of so many files. */
  public static int rowsFor(long files) {
    return (int) Math.min(Math.max(ROWS_OF_A_FILE * files, LEAST_ROWS), MOST_ROWS);
  }

  /** Spreads about so many rows between the bounds; every file with rows gets one at least. */
  public static SpreadRows of(BoundedFiles files, int rows) {
    int[] places = places(files.rows(), rows);
    double[] steps = steps(files.columns().size() + 1);
    // The last dimension tells which rows have no value.
    double[] among = along(places.length, steps[steps.length - 1]);
    List<KeyColumn> columns = new ArrayList<>();
    for (int place = 0; place < files.columns().size(); place++) {
      columns.add(spread(files.columns().get(place), places, along(places.length, steps[place]), among));
    }
    return new SpreadRows(new Sample(columns), places);
  }

  private static int[] places(long[] rows, int wanted) {
    double total = (double) Arrays.stream(rows).sum();
    int[] shares = new int[rows.length];
    long before = 0;
    long end = 0;
    for (int file = 0; total > 0 && file < rows.length; file++) {
      before += rows[file];
      long next = (long) Math.floor(before * (wanted / total) + 0.5);
      shares[file] = (int) Math.max(next - end, rows[file] > 0 ? 1 : 0);
      end = next;
    }
    int[] places = new int[Arrays.stream(shares).sum()];
    int filled = 0;
    for (int file = 0; file < shares.length; file++) {
      Arrays.fill(places, filled, filled + shares[file], file);
      filled += shares[file];
    }
    return places;
  }

  /** The steps of the recurrence, by Newton's method on x^(d+1) - x - 1 from 2. */
  private static double[] steps(int dimensions) {
    double root = 2;
    for (int i = 0; i < ROOT_STEPS; i++) {
      double power = 1;
      for (int dimension = 0; dimension < dimensions; dimension++) {
        power *= root;
      }
      root -= (power * root - root - 1) / ((dimensions + 1) * power - 1);
    }
    double[] steps = new double[dimensions];
    double step = 1;
    for (int dimension = 0; dimension < dimensions; dimension++) {
      step /= root;
      steps[dimension] = step;
    }
    return steps;
  }

  private static double[] along(int rows, double step) {
    double[] along = new double[rows];
    Arrays.setAll(along, row -> (0.5 + (row + 1) * step) % 1.0);
    return along;
  }

  private static KeyColumn spread(ColumnBounds bounds, int[] places, double[] along, double[] among) {
    byte[] states = new byte[places.length];
    boolean isAnyBounded = bounds.isAnyBounded();
    for (int row = 0; row < states.length; row++) {
      boolean hasValue = isAnyBounded && among[row] < bounds.valued()[places[row]];
      states[row] = hasValue ? KeyColumn.VALUE : KeyColumn.NULL;
    }
    return bounds.lower().domain() == KeyDomain.LONG
        ? KeyColumn.ofLongs(isAnyBounded ? longs(bounds, places, along) : new long[places.length], states)
        : KeyColumn.ofBytes(isAnyBounded ? texts(bounds, places, along) : new byte[places.length][], states);
  }

  private static long[] longs(ColumnBounds bounds, int[] places, double[] along) {
    long least = Long.MAX_VALUE;
    long most = Long.MIN_VALUE;
    for (int file = 0; file < bounds.size(); file++) {
      if (bounds.isBounded(file)) {
        least = Math.min(least, bounds.lower().longKey(file));
        most = Math.max(most, bounds.upper().longKey(file));
      }
    }
    boolean isFloating = LARGEST.containsKey(bounds.column().type());
    double largest = LARGEST.getOrDefault(bounds.column().type(), Double.MAX_VALUE);
    long[] keys = new long[places.length];
    for (int row = 0; row < keys.length; row++) {
      boolean isBounded = bounds.isBounded(places[row]);
      long lower = isBounded ? bounds.lower().longKey(places[row]) : least;
      long upper = isBounded ? bounds.upper().longKey(places[row]) : most;
      long key = isFloating ? betweenDoubles(lower, upper, along[row], largest) : betweenLongs(lower, upper, along[row]);
      keys[row] = Math.min(Math.max(key, lower), upper);
    }
    return keys;
  }

  /** Between two values, of which none is taken for larger than the largest: nothing lies a share of the way to infinity. */
  private static long betweenDoubles(long lower, long upper, double along, double largest) {
    double first = Math.min(Math.max(Keys.toDouble(lower), -largest), largest);
    double last = Math.min(Math.max(Keys.toDouble(upper), -largest), largest);
    return Keys.ofDouble(first * (1 - along) + last * along);
  }

  private static long betweenLongs(long lower, long upper, double along) {
    long width = upper - lower;
    // As an unsigned number: halved with its last bit kept, it is rounded to a double as the whole would be.
    double unsigned = width >= 0 ? (double) width : (double) (width >>> 1 | width & 1) * 2;
    // 2^64 - 1 rounds up when it becomes a double; every other width is not made larger than itself by more.
    double offset = Math.min(Math.floor(unsigned * along + along), TWO_TO_63 * 1.9999);
    return lower + (offset < TWO_TO_63 ? (long) offset : (long) (offset - TWO_TO_63) + Long.MIN_VALUE);
  }

  private static byte[][] texts(ColumnBounds bounds, int[] places, double[] along) {
    byte[][] lower = new byte[bounds.size()][];
    byte[][] upper = new byte[bounds.size()][];
    byte[] least = null;
    byte[] most = null;
    for (int file = 0; file < lower.length; file++) {
      if (bounds.isBounded(file)) {
        lower[file] = bounds.lower().bytesKey(file);
        upper[file] = bounds.upper().bytesKey(file);
        least = least == null || Arrays.compareUnsigned(lower[file], least) < 0 ? lower[file] : least;
        most = most == null || Arrays.compareUnsigned(upper[file], most) > 0 ? upper[file] : most;
      }
    }
    int[] prefixes = new int[lower.length];
    for (int file = 0; file < lower.length; file++) {
      lower[file] = lower[file] == null ? least : lower[file];
      upper[file] = upper[file] == null ? most : upper[file];
      prefixes[file] = ByteDigits.commonPrefix(lower[file], upper[file]);
    }
    boolean areNumbers = !OF_ANY_LENGTH.contains(bounds.column().type());
    ByteDigits digits = ByteDigits.of(lower, upper, ByteDigits.commonPrefix(least, most));
    byte[][] keys = new byte[places.length][];
    for (int row = 0; row < keys.length; row++) {
      int file = places[row];
      keys[row] =
          areNumbers
              ? ByteDigits.betweenNumbers(lower[file], upper[file], along[row])
              : digits.between(lower[file], upper[file], prefixes[file], along[row]);
    }
    return keys;
  }
}
