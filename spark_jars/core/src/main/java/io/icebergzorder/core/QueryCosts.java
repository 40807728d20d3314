package io.icebergzorder.core;

import io.icebergzorder.core.BoxCosts.ExtentCosts;
import java.util.Arrays;

/** The cost of boxes for the queries of a workload, bit for bit as Python's {@code QueryCosts}. */
// A box that is still to be cut into f files is expected to be read, by a query that touches it, to the product over its columns of
// min(1, s + 1/n): s is the share of the box that the query wants by this column, and n the number of slices that the column is cut
// into. The f slices are dealt out by doublings, each to the column where it saves most. A query for a value that is drawn from the rows
// touches a box by as much of it as the box has rows. A share of the cost is that of extents, for queries that nobody foresaw.
// Terms are added up by folded, in a fixed order. Source: Z. Yang and others, "Qd-tree", SIGMOD 2020, for cuts at the ends of queries.
final class QueryCosts implements BoxCosts {
  private final int[][] below;
  private final int leading;
  private final double ofRow;
  private final double unforeseen;
  private final ExtentCosts extents;
  private final WantedBoxes wanted;

  /** What the queries want of the clustering columns that are cut by any of them. */
  private final Part[] parts;

  private final double[] read;
  private final double[] saved;

  /** What some boxes want of a column, and of the box that is costed what share that is, and how much is read of it. */
  private static final class Part {
    private final int column;
    private final int[] boxes;
    private final int[] low;
    private final int[] high;
    private final boolean[] isDrawn;
    private final double[] share;
    private final double[] ofColumn;
    private final double[] before;
    private final double[] touched;
    private int measuredLow = -1;
    private int measuredHigh = -1;
    private double slice;

    // What the next doubling comes to if it is dealt to this column.
    private final double[] ofColumnThen;
    private final double[] after;

    Part(WantedBoxes wanted, int column, int[] boxes) {
      this.column = column;
      this.boxes = boxes;
      this.low = new int[boxes.length];
      this.high = new int[boxes.length];
      this.isDrawn = new boolean[boxes.length];
      for (int i = 0; i < boxes.length; i++) {
        low[i] = wanted.low()[column][boxes[i]];
        high[i] = wanted.high()[column][boxes[i]];
        isDrawn[i] = wanted.isDrawn()[column][boxes[i]];
      }
      this.share = new double[boxes.length];
      this.ofColumn = new double[boxes.length];
      this.before = new double[boxes.length];
      this.touched = new double[boxes.length];
      this.ofColumnThen = new double[boxes.length];
      this.after = new double[boxes.length];
    }

    /** Sees what is wanted of a box, and has no query read a box that it does not touch. */
    void measure(int boxLow, int boxHigh, double ofRow, double[] read) {
      // Boxes that are cut by one column have the same edges in others, often.
      if (boxLow != measuredLow || boxHigh != measuredHigh) {
        see(boxLow, boxHigh, ofRow);
      }
      for (int i = 0; i < boxes.length; i++) {
        read[boxes[i]] *= touched[i];
      }
      Arrays.fill(ofColumn, 1.0);
      slice = 1.0;
    }

    private void see(int boxLow, int boxHigh, double ofRow) {
      double extent = boxHigh - boxLow;
      double ofExtent = 1.0 / extent;
      for (int i = 0; i < boxes.length; i++) {
        int inside = isDrawn[i] ? 0 : Math.max(0, Math.min(high[i], boxHigh) - Math.max(low[i], boxLow));
        touched[i] = isDrawn[i] ? extent * ofRow : inside > 0 ? 1.0 : 0.0;
        share[i] = inside * ofExtent;
      }
      measuredLow = boxLow;
      measuredHigh = boxHigh;
    }

    /** Finds what a doubling saves here, by box. */
    void cut(double step, double[] read, double[] saved) {
      double then = slice / step;
      for (int i = 0; i < boxes.length; i++) {
        before[i] = read[boxes[i]];
      }
      for (int i = 0; i < before.length; i++) {
        ofColumnThen[i] = Math.min(1.0, share[i] + then);
        after[i] = before[i] / ofColumn[i] * ofColumnThen[i];
        saved[i] = before[i] - after[i];
      }
    }

    void deal(double step, double[] read) {
      slice /= step;
      System.arraycopy(ofColumnThen, 0, ofColumn, 0, boxes.length);
      for (int i = 0; i < boxes.length; i++) {
        read[boxes[i]] = after[i];
      }
    }
  }

  private QueryCosts(QueryCosts of, WantedBoxes wanted, int[] lows, int[] highs) {
    this.below = of.below;
    this.leading = of.leading;
    this.ofRow = of.ofRow;
    this.unforeseen = of.unforeseen;
    this.extents = of.extents;
    this.wanted = wanted;
    this.read = new double[wanted.count()];
    this.saved = new double[wanted.count()];
    Part[] found = new Part[below.length];
    int count = 0;
    for (int column = leading; column < below.length; column++) {
      int[] boxes = new int[wanted.count()];
      int cut = 0;
      for (int box = 0; box < boxes.length; box++) {
        boxes[cut] = box;
        cut += isCut(wanted, column, box, lows[column], highs[column]) ? 1 : 0;
      }
      if (cut > 0) {
        found[count++] = new Part(wanted, column, Arrays.copyOf(boxes, cut));
      }
    }
    this.parts = Arrays.copyOf(found, count);
  }

  private QueryCosts(int[][] below, int rows, WantedBoxes wanted, ExtentCosts extents, double share, int leading) {
    this.below = below;
    this.leading = leading;
    this.ofRow = 1.0 / rows;
    this.unforeseen = (1.0 - share) / ((double) rows * (below.length - leading));
    this.extents = extents;
    this.wanted = wanted;
    this.parts = new Part[0];
    this.read = new double[0];
    this.saved = new double[0];
  }

  /** The costs of boxes for a workload, or those of extents where no query wants some of the rows, but not all. */
  static BoxCosts of(int[][] below, int rows, QueryBoxes boxes, ExtentCosts extents, double share, int leading) {
    WantedBoxes wanted = WantedBoxes.of(below, boxes, rows, leading);
    if (wanted.count() == 0) {
      return extents;
    }
    double total = 0;
    for (double weight : wanted.weights()) {
      total += weight;
    }
    double ofAll = share / total;
    double[] weights = Arrays.stream(wanted.weights()).map(weight -> weight * ofAll).toArray();
    return new QueryCosts(below, rows, wanted.weighing(weights), extents, share, leading);
  }

  /** Whether a query may read less of a box once that is cut by a column. */
  private static boolean isCut(WantedBoxes wanted, int column, int box, int low, int high) {
    return wanted.isDrawn()[column][box] || wanted.low()[column][box] > low || wanted.high()[column][box] < high;
  }

  /** Keeps the queries that touch a box, and do not want all of it whatever it is cut by. */
  @Override
  public BoxCosts inside(int[] lows, int[] highs) {
    int columns = below.length;
    int[] low = new int[columns];
    int[] high = new int[columns];
    for (int column = 0; column < columns; column++) {
      low[column] = below[column][lows[column]];
      high[column] = below[column][highs[column] + 1];
    }
    int[] kept = new int[wanted.count()];
    int count = 0;
    for (int box = 0; box < wanted.count(); box++) {
      boolean isTouched = true;
      boolean isCut = false;
      for (int column = 0; column < columns && isTouched; column++) {
        isTouched = Math.min(wanted.high()[column][box], high[column]) > Math.max(wanted.low()[column][box], low[column]);
        isCut |= column >= leading && isCut(wanted, column, box, low[column], high[column]);
      }
      if (isTouched && isCut) {
        kept[count++] = box;
      }
    }
    return new QueryCosts(this, wanted.only(Arrays.copyOf(kept, count)), low, high);
  }

  @Override
  public Ends ends(int column) {
    for (Part part : parts) {
      if (part.column == column) {
        int[] starts = new int[2 * part.boxes.length];
        double[] weights = new double[starts.length];
        int count = 0;
        for (int[] edges : new int[][] {wanted.starts()[column], wanted.ends()[column]}) {
          for (int i = 0; i < part.boxes.length; i++) {
            starts[count] = edges[part.boxes[i]];
            weights[count] = wanted.weights()[part.boxes[i]];
            count += part.isDrawn[i] ? 0 : 1;
          }
        }
        return new Ends(Arrays.copyOf(starts, count), Arrays.copyOf(weights, count));
      }
    }
    return Ends.NONE;
  }

  @Override
  public double of(int[] lows, int[] highs, int files) {
    System.arraycopy(wanted.weights(), 0, read, 0, read.length);
    for (Part part : parts) {
      int[] column = below[part.column];
      part.measure(column[lows[part.column - leading]], column[highs[part.column - leading] + 1], ofRow, read);
    }
    double left = files;
    while (parts.length > 0 && left > 1.0) {
      double step = Math.min(left, 2.0);
      Part best = null;
      double most = 0;
      for (Part part : parts) {
        part.cut(step, read, saved);
        // With one column there is nothing to choose.
        double of = parts.length == 1 ? 0 : folded(saved, part.boxes.length);
        if (best == null || of > most) {
          best = part;
          most = of;
        }
      }
      best.deal(step, read);
      left /= step;
    }
    return folded(read, read.length) + unforeseen * extents.of(lows, highs, files);
  }

  /** Adds terms up: every eighth one in turn, and then the later half of the eight sums onto the earlier one, and so on. */
  static double folded(double[] terms, int count) {
    double a = 0;
    double b = 0;
    double c = 0;
    double d = 0;
    double e = 0;
    double f = 0;
    double g = 0;
    double h = 0;
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      a += terms[i];
      b += terms[i + 1];
      c += terms[i + 2];
      d += terms[i + 3];
      e += terms[i + 4];
      f += terms[i + 5];
      g += terms[i + 6];
      h += terms[i + 7];
    }
    a += i < count ? terms[i] : 0;
    b += i + 1 < count ? terms[i + 1] : 0;
    c += i + 2 < count ? terms[i + 2] : 0;
    d += i + 3 < count ? terms[i + 3] : 0;
    e += i + 4 < count ? terms[i + 4] : 0;
    f += i + 5 < count ? terms[i + 5] : 0;
    g += i + 6 < count ? terms[i + 6] : 0;
    return a + e + (c + g) + (b + f + (d + h));
  }
}
