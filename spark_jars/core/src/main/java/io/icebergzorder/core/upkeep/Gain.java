package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.report.DataFiles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Chooses the data files of a partition whose rewrite saves filters the most bytes for each byte rewritten.
 *
 * <p>Files are ordered by excess: the share of rows that a file is read for, divided by the same share after a rewrite of everything.
 * Prefixes of that order, each half as large again as the one before, are candidates. A candidate of S bytes that leaves filters reading R
 * is scored (limit - R) / S, where the limit is {@code max-scan-ratio} times what a rewrite of everything leaves. The best score wins.
 * Candidates above the limit are out, and so are those that rewrite files of earlier rewrites beyond what the cap allows ({@link
 * Gathering#rewriteBudget}).
 *
 * <p>Files that sizes call for are rewritten if filters then read no more than today, or than after a rewrite of everything. Otherwise
 * only those that are due are.
 *
 * <p>Bounds hide that columns are correlated. So rows of files that are read for more than the average are taken to lie as those of the
 * other files do.
 */
public final class Gain {
  private static final long ROWS_OF_A_FILE = 200;
  private static final long LEAST_ROWS = 2_000;
  private static final long MOST_ROWS = 200_000;
  private static final long LEAST_OF_MANY = 500;
  private static final long ROWS_IN_ALL = 500_000;
  private static final double GROWTH = 1.5;

  /** So many times as much is the same, of sums that are rounded. */
  private static final double AS_MUCH = 1 + 1e-9;

  private static final long SMALL_PART = 5;

  private final PartitionRows partition;
  private final DataFiles files;
  private final UpkeepRequest request;
  private final double today;
  private final PartitionRows.Rewritten everything;

  private Gain(PartitionRows partition, DataFiles files, UpkeepRequest request) {
    this.partition = partition;
    this.files = files;
    this.request = request;
    int[] all = IntStream.range(0, files.count()).toArray();
    this.today = partition.cost(all);
    this.everything = rewritten(all, false);
  }

  /** The rows; those of files that are read for more than the average lie as those of the others do. */
  private static PartitionRows spread(DataFiles files, int rows, UpkeepRequest request) {
    PartitionRows found = PartitionRows.of(files, rows, request, null);
    double cost = found.cost(IntStream.range(0, files.count()).toArray());
    boolean[] like = flags(files, file -> files.bytes() * found.reach(file) < cost);
    return places(like).length == 0 ? found : PartitionRows.of(files, rows, request, like);
  }

  /** Which files have bounds of each column that counts: others are rewritten once a table keeps bounds. */
  private static boolean hasBounds(DataFiles files, int file, UpkeepRequest request) {
    return IntStream.range(0, files.columns().size())
        .filter(place -> request.weights()[place] > 0)
        .mapToObj(files.columns()::get)
        .allMatch(column -> column.isBounded(file) || !column.hasValues(file));
  }

  private static boolean[] flags(DataFiles files, IntPredicate of) {
    boolean[] flags = new boolean[files.count()];
    IntStream.range(0, flags.length).forEach(file -> flags[file] = of.test(file));
    return flags;
  }

  private static int[] places(boolean[] flags) {
    return IntStream.range(0, flags.length).filter(file -> flags[file]).toArray();
  }

  /**
   * Shares out the rows that partitions are judged by.
   *
   * @param expected for each partition, into how many files it would be written
   * @return how many rows to spread in each: 200 for each new file, and fewer where that were more than 500,000 in all
   */
  public static int[] rowsToSpread(int[] expected) {
    long[] wanted =
        Arrays.stream(expected).mapToLong(count -> Math.min(Math.max(ROWS_OF_A_FILE * count, LEAST_ROWS), MOST_ROWS)).toArray();
    long total = Arrays.stream(wanted).sum();
    return Arrays.stream(wanted)
        .map(each -> total <= ROWS_IN_ALL ? each : Math.max(each * ROWS_IN_ALL / total, LEAST_OF_MANY))
        .mapToInt(Math::toIntExact)
        .toArray();
  }

  /** Whether files are a small part of their partition, by the bytes of both. */
  public static boolean isSmallPart(long size, long partition) {
    return SMALL_PART * size < partition;
  }

  /**
   * Chooses the files of a partition that are to be rewritten.
   *
   * @param files the data files, all of one partition, at least one
   * @param calledFor which of them their sizes call for: they are rewritten if that does no harm
   * @param isDue which of these are rewritten whatever comes of it
   * @param isOurs which of them an earlier rewrite by the same sort order wrote; those without bounds do not count
   * @param budget bytes that a rewrite for gain may take if it takes such a file
   * @param rows how many rows to judge by, see {@link #rowsToSpread}
   * @param request what is worth a rewrite
   * @return the files that are called for, or due, and those whose rewrite pays
   */
  public static Choice choose(
      DataFiles files, boolean[] calledFor, boolean[] isDue, boolean[] isOurs, long budget, int rows, UpkeepRequest request) {
    Gain gain = new Gain(spread(files, rows, request), files, request);
    PartitionRows.Rewritten all = gain.everything;
    Found found = gain.found(places(calledFor));
    boolean isFiner = false;
    double limit = request.maxScanRatio() * all.cost();
    // Files of the size that is asked for are read more than smaller ones: that is no loss.
    double unharmed = Math.min(limit, Math.max(gain.today, all.cost())) * AS_MUCH;
    // A file by itself is left to the rules of sizes.
    if (found.after > unharmed && files.count() > 1) {
      double[] attained = gain.partition.average(all.reach());
      Found due = gain.found(places(isDue));
      int[] order = gain.order(isDue, attained);
      boolean[] isCapped = flags(files, file -> isOurs[file] && hasBounds(files, file, request));
      found = due;
      Found best = due.after > limit ? gain.best(order, due.files.length, attained, limit, isCapped, budget) : null;
      if (best != null) {
        found = best;
        isFiner = request.isFiner(gain.bytes(found.files), files.bytes());
      }
    }
    long size = Math.max(1, files.bytes());
    return new Choice(found.files, gain.today / size, found.after / size, all.cost() / size, isFiner);
  }

  /**
   * Files to rewrite.
   *
   * @param files their places, ascending
   * @param after what all files cost when these are rewritten
   */
  private record Found(int[] files, double after) {}

  /** Predicts what a rewrite of some files makes, whose places ascend. */
  private Found found(int[] chosen) {
    return new Found(chosen, after(chosen, false));
  }

  /** Predicts a rewrite of some files, whose places ascend. */
  private PartitionRows.Rewritten rewritten(int[] chosen, boolean forGain) {
    long size = bytes(chosen);
    boolean isFiner = forGain && request.isFiner(size, files.bytes());
    int wanted = (isFiner ? request.finerFiles() : request.expectedFiles()).applyAsInt(size);
    return partition.rewritten(chosen, wanted, request.layout());
  }

  private long bytes(int[] chosen) {
    return Arrays.stream(chosen).mapToLong(file -> files.sizes()[file]).sum();
  }

  /** Predicts what all files cost when some are rewritten, whose places ascend. */
  private double after(int[] chosen, boolean forGain) {
    return chosen.length == 0 ? today : today - partition.cost(chosen) + rewritten(chosen, forGain).cost();
  }

  /**
   * The files in the order in which they are taken: those that are due, and then those that are read for the most in comparison with what
   * their rows were read for after a rewrite of everything.
   */
  private int[] order(boolean[] isDue, double[] attained) {
    double[] excess = new double[attained.length];
    Arrays.setAll(excess, file -> attained[file] > 0 ? partition.reach(file) / attained[file] : 0);
    IntStream due = IntStream.range(0, files.count()).filter(file -> isDue[file]);
    IntStream others =
        IntStream.range(0, files.count())
            .filter(file -> !isDue[file])
            .boxed()
            .sorted((one, other) -> Double.compare(excess[other], excess[one]))
            .mapToInt(Integer::intValue);
    return IntStream.concat(due, others).toArray();
  }

  /**
   * How many files the sets that are tried take, ever more; all in the end. The first set is known already, or a single file.
   *
   * @param due how many of them every set holds
   */
  private int[] counts(int[] order, int due) {
    double[] ends = ends(order);
    List<Integer> counts = new ArrayList<>();
    int count = Math.max(1, due);
    while (count < order.length) {
      count = Math.min(Math.max(count + 1, 1 + firstNotBelow(ends, GROWTH * ends[count - 1])), order.length);
      counts.add(count);
    }
    return counts.stream().mapToInt(Integer::intValue).toArray();
  }

  /**
   * Finds the set that stays furthest below a limit for its bytes; null if none does within the budget. A set cannot beat a rewrite of
   * everything, so that sets whose bound is no better than the best found are skipped: growing trees is what takes the time.
   *
   * @param order the files in the order in which they are taken
   * @param due how many of them every set holds
   * @param attained for each file, what its rows are read for after a rewrite of everything
   * @param isCapped files that only sets within the budget may take
   */
  private Found best(int[] order, int due, double[] attained, double limit, boolean[] isCapped, long budget) {
    int[] counts = counts(order, due);
    double[] ends = ends(order);
    double[] most = most(order, counts, attained, limit);
    int uncapped = 0;
    while (uncapped < order.length && !isCapped[order[uncapped]]) {
      uncapped++;
    }
    Found best = null;
    double score = 0;
    if (uncapped == order.length || ends[ends.length - 1] <= budget) {
      best = new Found(order, everything.cost());
      score = (limit - best.after) / Math.max(1, ends[ends.length - 1]);
    }
    int[] places =
        IntStream.range(0, counts.length - 1)
            .boxed()
            .sorted((one, other) -> Double.compare(most[other], most[one]))
            .mapToInt(Integer::intValue)
            .toArray();
    for (int place : places) {
      if (most[place] <= score) {
        break;
      }
      double size = ends[counts[place] - 1];
      if (counts[place] <= uncapped || size <= budget) {
        int[] chosen = Arrays.copyOf(order, counts[place]);
        Arrays.sort(chosen);
        double after = after(chosen, true);
        double worth = (limit - after) / Math.max(1, size);
        if (after <= limit && worth > score) {
          best = new Found(chosen, after);
          score = worth;
        }
      }
    }
    return best == null ? null : new Found(Arrays.stream(best.files).sorted().toArray(), best.after);
  }

  /** How far below the limit for its bytes each set would be, if its files were read for what a rewrite of everything leaves. */
  private double[] most(int[] order, int[] counts, double[] attained, double limit) {
    double[] ends = ends(order);
    double[] most = new double[counts.length];
    double saved = 0;
    int taken = 0;
    for (int place = 0; place < counts.length; place++) {
      for (; taken < counts[place]; taken++) {
        int file = order[taken];
        saved += files.sizes()[file] * (partition.reach(file) - attained[file]);
      }
      most[place] = (limit - (today - saved)) / Math.max(1, ends[counts[place] - 1]);
    }
    return most;
  }

  private double[] ends(int[] order) {
    double[] ends = new double[order.length];
    long end = 0;
    for (int place = 0; place < ends.length; place++) {
      end += files.sizes()[order[place]];
      ends[place] = end;
    }
    return ends;
  }

  private static int firstNotBelow(double[] ascending, double least) {
    int low = 0;
    int high = ascending.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (ascending[middle] < least) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}
