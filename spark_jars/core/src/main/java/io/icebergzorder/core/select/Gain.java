package io.icebergzorder.core.select;

import io.icebergzorder.core.metrics.BoundedFiles;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Chooses the data files of a partition whose rewrite saves filters the most cost for each byte rewritten.
 *
 * <p>{@code docs/design/choice-of-files.md} has the rules: step 4 decides on the called files, step 5 scores sets of files.
 */
public final class Gain {
  private static final long ROWS_OF_A_FILE = 200;
  private static final long LEAST_ROWS = 2_000;
  private static final long MOST_ROWS = 40_000;
  private static final long LEAST_OF_MANY = 500;
  private static final long ROWS_IN_ALL = 500_000;
  private static final double GROWTH = 1.5;

  private Gain() {}

  /**
   * The files chosen in a partition, and the average cost of a filter on it, in bytes.
   *
   * @param files places of the files; of a scored set the required ones first, then by excess; not copied
   * @param expected the cost after a rewrite of {@code files}
   * @param attainable the cost after a rewrite of all files
   * @param isWithin whether filters cost at most the limits today, so that no set is scored
   * @param usesSmallerTarget whether {@code files} are written to 1.5 times as many files as usual
   * @param willBeWithin whether filters cost at most the limits after a rewrite of {@code files}
   * @param extents by column, the share of the partition that {@code files} span, in thousandths; empty for all files, and for none
   */
  public record Choice(
      int[] files,
      double today,
      double expected,
      double attainable,
      boolean isWithin,
      boolean usesSmallerTarget,
      boolean willBeWithin,
      int[] extents) {}

  /** A set of files by places, and the cost of all files after its rewrite. */
  private record Found(int[] files, double[] costs) {}

  /** Returns the number of rows to spread in each partition, given its expected number of files. */
  public static int[] rowsToSpread(int[] expected) {
    long[] wanted = Arrays.stream(expected).mapToLong(count -> Math.min(Math.max(ROWS_OF_A_FILE * count, LEAST_ROWS), MOST_ROWS)).toArray();
    long total = Arrays.stream(wanted).sum();
    return Arrays.stream(wanted)
        .map(each -> total <= ROWS_IN_ALL ? each : Math.max(each * ROWS_IN_ALL / total, LEAST_OF_MANY))
        .mapToInt(Math::toIntExact)
        .toArray();
  }

  /**
   * Chooses the files of a partition that are to be rewritten.
   *
   * @param files the data files, all of one partition, at least one
   * @param calledFor which files are called; they are rewritten if filters on them then cost at least 5% less
   * @param mustRewrite which of these are rewritten whatever they gain
   * @param budget the most bytes of a scored set
   * @param rows the number of rows to spread, see {@link #rowsToSpread}
   */
  public static Choice choose(BoundedFiles files, boolean[] calledFor, boolean[] mustRewrite, long budget, int rows, UpkeepRequest request) {
    int[] all = IntStream.range(0, files.count()).toArray();
    PartitionRows partition = new PartitionRows(files, rows, request, null);
    // Bounds hide that columns are correlated: files read more than the average take rows of the other files.
    double average = partition.mean(partition.cost()) - partition.planning(all.length);
    double whole = Arrays.stream(all).mapToLong(each -> files.sizes()[each] + request.openCost()).sum();
    boolean[] isLike = new boolean[all.length];
    for (int file : all) {
      isLike[file] = whole * partition.readProbability(file) < average;
    }
    if (places(isLike).length > 0) {
      partition = new PartitionRows(files, rows, request, partition.rowsAlike(isLike));
    }
    double[] ofToday = partition.cost();
    double today = partition.mean(ofToday);
    PartitionRows.Rewritten everything = partition.rewritten(all, false);
    boolean isWithin = partition.isWithin(ofToday, everything.costs());
    int[] called = places(calledFor);
    // Often all files are called for.
    double[] made = called.length == all.length ? everything.costs() : partition.rewritten(called, false).costs();
    Found found = new Found(called, partition.after(called, made));
    boolean gains = partition.gainsEnough(called, made);
    boolean usesSmallerTarget = false;
    if (!gains || !partition.isWithin(found.costs, everything.costs())) {
      int[] due = places(mustRewrite);
      Found required = new Found(due, partition.after(due, partition.rewritten(due, false).costs()));
      found = gains ? found : required;
      if (!partition.isWithin(required.costs, everything.costs())) {
        double limit = request.limit(partition.mean(everything.costs()));
        double[] attained = partition.average(everything.readProbability());
        int[] order = IntStream.concat(Arrays.stream(due), byExcess(partition, attained, all).filter(file -> !mustRewrite[file])).toArray();
        // At best, a set's rows are read as often as after a rewrite of everything.
        double[] atBest = new double[order.length];
        double planning = partition.planning(all.length) / all.length;
        double saved = 0;
        for (int place = 0; place < order.length; place++) {
          int file = order[place];
          double share = (double) files.sizes()[file] / Math.max(1, files.bytes());
          double bytesOfNew = files.sizes()[file] + request.openCost() * everything.files() * share;
          double ofReading = partition.costOf(file) * partition.readProbability(file) - bytesOfNew * attained[file];
          saved += ofReading + (planning - partition.planning(everything.files()) * share);
          atBest[place] = today - saved;
        }
        long[] ends = Arrays.stream(order).mapToLong(file -> files.sizes()[file]).toArray();
        Arrays.parallelPrefix(ends, Long::sum);
        Found best = best(partition, ends, order, atBest, everything.costs(), due.length, limit, budget);
        usesSmallerTarget = best != null && partition.usesSmallerTarget(best.files);
        found = best == null ? found : best;
      }
    }
    return new Choice(
        found.files,
        today,
        partition.mean(found.costs),
        partition.mean(everything.costs()),
        isWithin,
        usesSmallerTarget,
        partition.isWithin(found.costs, everything.costs()),
        partition.extents(found.files));
  }

  private static int[] places(boolean[] flags) {
    return IntStream.range(0, flags.length).filter(file -> flags[file]).toArray();
  }

  /** The files by their read probability relative to a full rewrite's, highest first. */
  private static IntStream byExcess(PartitionRows partition, double[] attained, int[] all) {
    double[] excess = Arrays.stream(all).mapToDouble(file -> attained[file] > 0 ? partition.readProbability(file) / attained[file] : 0).toArray();
    return Arrays.stream(all).boxed().sorted((one, other) -> Double.compare(excess[other], excess[one])).mapToInt(Integer::intValue);
  }

  /** The first files of an order, more than those due, that gain and stay furthest below the limit for their bytes; null if none do. */
  private static Found best(
      PartitionRows partition,
      long[] ends,
      int[] order,
      double[] atBest,
      double[] ofEverything,
      int due,
      double limit,
      long budget) {
    Found found = null;
    double best = -1;
    int count = Math.max(1, due);
    while (count < order.length) {
      double enough = GROWTH * ends[count - 1];
      int below = (int) Arrays.stream(ends).filter(end -> end < enough).count();
      count = Math.min(Math.max(count, below) + 1, order.length);
      long size = ends[count - 1];
      if (size > budget) {
        break;
      }
      boolean isAll = count == order.length;
      // Growing trees takes most of the time.
      if (!isAll && score(limit - atBest[count - 1], size) <= Math.max(best, 0)) {
        continue;
      }
      int[] places = Arrays.stream(order, 0, count).sorted().toArray();
      double[] made = isAll ? ofEverything : partition.rewritten(places, true).costs();
      double[] costs = isAll ? ofEverything : partition.after(places, made);
      double score = score(limit - partition.mean(costs), size);
      // If only a column is above its limit, the mean is not, and even a set that costs more may have the highest score.
      if (score > best && partition.isWithin(costs, ofEverything) && partition.gainsEnough(places, made)) {
        found = new Found(Arrays.copyOf(order, count), costs);
        best = score;
      }
    }
    return found;
  }

  /**
   * How much a rewrite of so many bytes is worth that leaves costs so far below the limit. Each append costs more than the next one, so
   * that twice as far below lasts for more than two appends: about 2^1.5.
   */
  private static double score(double belowLimit, long size) {
    double far = Math.max(0, belowLimit);
    return far * Math.sqrt(far) / Math.max(1, size);
  }
}
