package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;

/**
 * Chooses the data files of a partition whose rewrite saves filters the most bytes for each byte rewritten.
 *
 * <p>Files are ordered by excess: the share of rows that a file is read for, divided by the same share after a rewrite of everything.
 * Prefixes of that order, each half as large again as the one before, are candidates. A candidate of S bytes that leaves filters reading R
 * is scored (limit - R) / S, where the limit is {@code max-scan-ratio} times what a rewrite of everything leaves. The best score wins.
 * Candidates above the limit are out, and so are those of more bytes than the cap allows ({@link Gathering#rewriteBudget}). A candidate of
 * less than half of the bytes is written to half as many files again, because its rows are sparse.
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

  private final DataFiles files;
  private final UpkeepRequest request;
  private final PartitionRows partition;
  private final double today;
  private final PartitionRows.Rewritten everything;
  private final double limit;

  /**
   * What is chosen of a partition.
   *
   * @param files places of the files, those that are due and those that are read for most first; not copied
   * @param today average scan fraction of the partition's files as they are, in [0, 1]
   * @param expected the same after a rewrite of the chosen files
   * @param attainable the same after a rewrite of all files
   * @param isFiner whether the chosen files are written to half as many files again as usual
   */
  public record Choice(int[] files, double today, double expected, double attainable, boolean isFiner) {}

  /** A set of files, by places, and what all files cost once these are rewritten. */
  private record Found(int[] files, double after) {}

  private Gain(DataFiles files, int rows, UpkeepRequest request) {
    int[] all = IntStream.range(0, files.count()).toArray();
    PartitionRows found = new PartitionRows(files, rows, request, null);
    boolean[] isLike = new boolean[all.length];
    double average = found.cost(all);
    Arrays.stream(all).forEach(file -> isLike[file] = files.bytes() * found.reach(file) < average);
    this.files = files;
    this.request = request;
    this.partition = places(isLike).length == 0 ? found : new PartitionRows(files, rows, request, isLike);
    this.today = partition.cost(all);
    this.everything = partition.rewritten(all, false);
    this.limit = request.maxScanRatio() * everything.cost();
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

  /**
   * Chooses the files of a partition that are to be rewritten.
   *
   * @param files the data files, all of one partition, at least one
   * @param calledFor which of them their sizes call for: they are rewritten if that does no harm
   * @param isDue which of these are rewritten whatever comes of it
   * @param budget bytes that a rewrite for gain may take; files without bounds do not count, they are rewritten to have them
   * @param rows how many rows to judge by, see {@link #rowsToSpread}
   * @param request what is worth a rewrite
   */
  public static Choice choose(DataFiles files, boolean[] calledFor, boolean[] isDue, long budget, int rows, UpkeepRequest request) {
    Gain gain = new Gain(files, rows, request);
    double attainable = gain.everything.cost();
    int[] chosen = places(calledFor);
    double expected = gain.partition.after(chosen, false);
    boolean isFiner = false;
    // Files of the size that is asked for are read more than smaller ones: that is no loss. A file by itself is left to the rules of
    // sizes.
    if (expected > Math.min(gain.limit, Math.max(gain.today, attainable)) * AS_MUCH && files.count() > 1) {
      chosen = places(isDue);
      expected = gain.partition.after(chosen, false);
      Found best = expected > gain.limit ? gain.best(isDue, budget) : null;
      if (best != null) {
        chosen = best.files;
        expected = best.after;
        isFiner = gain.partition.isFiner(best.files);
      }
    }
    long size = Math.max(1, files.bytes());
    return new Choice(chosen, gain.today / size, expected / size, attainable / size, isFiner);
  }

  /**
   * Finds the set that stays furthest below the limit for its bytes; null if none does within the budget. A set cannot beat a rewrite of
   * everything, so that sets whose bound is no better than the best found are skipped: growing trees is what takes the time.
   */
  private Found best(boolean[] isDue, long budget) {
    double[] attained = partition.average(everything.reach());
    int[] order =
        IntStream.concat(
                Arrays.stream(places(isDue)),
                descending(files.count(), file -> attained[file] > 0 ? partition.reach(file) / attained[file] : 0)
                    .filter(file -> !isDue[file]))
            .toArray();
    double[] ends = sums(order, file -> files.sizes()[file]);
    double[] capped = sums(order, file -> lacksBounds(file) ? 0 : files.sizes()[file]);
    double[] saved = sums(order, file -> files.sizes()[file] * (partition.reach(file) - attained[file]));
    int[] counts = counts(ends, places(isDue).length);
    int last = counts.length - 1;
    IntToDoubleFunction most = place -> (limit - (today - saved[counts[place] - 1])) / Math.max(1, ends[counts[place] - 1]);
    Found found = null;
    double score = -1;
    // All files come first: what they leave is known.
    for (int place : IntStream.concat(IntStream.of(last), descending(last, most)).toArray()) {
      int count = counts[place];
      if (capped[count - 1] > budget || place != last && most.applyAsDouble(place) <= Math.max(score, 0)) {
        continue;
      }
      int[] chosen = Arrays.copyOf(order, count);
      double expected = place == last ? everything.cost() : partition.after(Arrays.stream(chosen).sorted().toArray(), true);
      double worth = (limit - expected) / Math.max(1, ends[count - 1]);
      if (expected <= limit && worth > score) {
        found = new Found(chosen, expected);
        score = worth;
      }
    }
    return found;
  }

  /** How many files the sets that are tried take, ever more; all in the end. The first set is known already, or a single file. */
  private static int[] counts(double[] ends, int due) {
    List<Integer> counts = new ArrayList<>();
    int count = Math.max(1, due);
    while (count < ends.length) {
      double enough = GROWTH * ends[count - 1];
      int below = (int) Arrays.stream(ends).takeWhile(end -> end < enough).count();
      count = Math.min(Math.max(count, below) + 1, ends.length);
      counts.add(count);
    }
    return counts.stream().mapToInt(Integer::intValue).toArray();
  }

  private boolean lacksBounds(int file) {
    for (int place = 0; place < files.columns().size(); place++) {
      ColumnBounds column = files.columns().get(place);
      if (request.weights()[place] > 0 && column.hasValues(file) && !column.isBounded(file)) {
        return true;
      }
    }
    return false;
  }

  /** The first numbers by what each has, the most first; equal ones in their order. */
  private static IntStream descending(int count, IntToDoubleFunction of) {
    return IntStream.range(0, count)
        .boxed()
        .sorted((one, other) -> Double.compare(of.applyAsDouble(other), of.applyAsDouble(one)))
        .mapToInt(Integer::intValue);
  }

  private static double[] sums(int[] order, IntToDoubleFunction of) {
    double[] sums = new double[order.length];
    double sum = 0;
    for (int place = 0; place < sums.length; place++) {
      sum += of.applyAsDouble(order[place]);
      sums[place] = sum;
    }
    return sums;
  }
}
