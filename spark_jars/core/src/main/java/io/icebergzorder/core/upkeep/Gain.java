package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.report.DataFiles;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Chooses the data files of a partition whose rewrite brings filters the most for its bytes.
 *
 * <p>The files that lie across others most, measured by what a rewrite of everything would leave of them, come first. Taken from there,
 * ever larger sets are tried, each as large again by half. Of the sets that bring the partition below the limit, the one is taken that
 * stays furthest below it for its bytes: it is long until the limit is reached again. So files that an append has spread over the
 * domain are rewritten together as long as that is enough, and with the files that they lie across when it is not.
 */
public final class Gain {
  private static final long ROWS_OF_A_FILE = 200;
  private static final long LEAST_ROWS = 2_000;
  private static final long MOST_ROWS = 200_000;
  private static final long LEAST_OF_MANY = 500;
  private static final long ROWS_IN_ALL = 1_000_000;
  private static final double GROWTH = 1.5;

  private final PartitionRows partition;
  private final DataFiles files;
  private final UpkeepRequest request;
  private final double today;

  private Gain(PartitionRows partition, DataFiles files, UpkeepRequest request) {
    this.partition = partition;
    this.files = files;
    this.request = request;
    this.today = partition.cost(IntStream.range(0, files.count()).toArray());
  }

  /**
   * Shares out the rows that partitions are judged by.
   *
   * @param expected for each partition, into how many files it would be written
   * @return how many rows to spread in each: 200 for each new file, and fewer where that were more than a million in all
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
   * @param calledFor which of them are rewritten anyway
   * @param rows how many rows to judge by, see {@link #rowsToSpread}
   * @param request what is worth a rewrite
   * @return the files that are called for, and those whose rewrite with them pays
   */
  public static Choice choose(DataFiles files, boolean[] calledFor, int rows, UpkeepRequest request) {
    PartitionRows partition = new PartitionRows(files, rows, request.kept(), request.weights());
    Gain gain = new Gain(partition, files, request);
    PartitionRows.Rewritten all = gain.rewritten(IntStream.range(0, files.count()).toArray());
    int[] called = IntStream.range(0, files.count()).filter(file -> calledFor[file]).toArray();
    Found found = new Found(called, gain.after(called));
    double limit = request.maxScanRatio() * all.cost();
    if (found.after > limit) {
      // There is none to try in a partition of one file.
      Found best = gain.best(gain.order(calledFor, all.reach()), called.length, limit);
      found = best == null ? found : best;
    }
    long size = Math.max(1, files.bytes());
    return new Choice(found.files, gain.today / size, found.after / size, all.cost() / size);
  }

  /**
   * Files to rewrite.
   *
   * @param files their places, ascending
   * @param after what all files cost when these are rewritten
   */
  private record Found(int[] files, double after) {}

  /** Predicts a rewrite of some files, whose places ascend. */
  private PartitionRows.Rewritten rewritten(int[] chosen) {
    return partition.rewritten(chosen, request.expectedFiles().applyAsInt(bytes(chosen)), request.layout());
  }

  private long bytes(int[] chosen) {
    return Arrays.stream(chosen).mapToLong(file -> files.sizes()[file]).sum();
  }

  /** Predicts what all files cost when some are rewritten, whose places ascend. */
  private double after(int[] chosen) {
    return chosen.length == 0 ? today : today - partition.cost(chosen) + rewritten(chosen).cost();
  }

  /**
   * The files in the order in which they are taken: those that are called for, and then those that are read for the most in comparison
   * with what their rows were read for after a rewrite of everything.
   */
  private int[] order(boolean[] calledFor, double[] attained) {
    double[] after = partition.average(attained);
    double[] excess = new double[after.length];
    Arrays.setAll(excess, file -> after[file] > 0 ? partition.reach(file) / after[file] : 0);
    IntStream called = IntStream.range(0, files.count()).filter(file -> calledFor[file]);
    IntStream others =
        IntStream.range(0, files.count())
            .filter(file -> !calledFor[file])
            .boxed()
            .sorted((one, other) -> Double.compare(excess[other], excess[one]))
            .mapToInt(Integer::intValue);
    return IntStream.concat(called, others).toArray();
  }

  /**
   * Finds, of ever larger sets, the one that stays furthest below a limit for its bytes; the last one, of all files, gets there.
   *
   * @param order the files in the order in which they are taken
   * @param begun how many of them every set holds
   * @return null if there is no such set
   */
  private Found best(int[] order, int begun, double limit) {
    double[] ends = ends(order);
    Found best = null;
    double score = 0;
    int count = Math.max(1, begun);
    while (count < order.length) {
      count = Math.min(Math.max(count + 1, 1 + firstNotBelow(ends, GROWTH * ends[count - 1])), order.length);
      int[] chosen = Arrays.copyOf(order, count);
      Arrays.sort(chosen);
      double after = after(chosen);
      double worth = (limit - after) / Math.max(1, bytes(chosen));
      if (after <= limit && (best == null || worth > score)) {
        best = new Found(chosen, after);
        score = worth;
      }
    }
    return best;
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
