package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.report.DataFiles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Chooses the data files of a partition whose rewrite brings filters the most for its bytes.
 *
 * <p>The files that lie across others most, measured by what a rewrite of everything would leave of them, come first. Taken from there,
 * ever larger sets are tried, each as large again by half. Of the sets that bring the partition below the limit, the one is taken that
 * stays furthest below it for its bytes: it is long until the limit is reached again. So files that an append has spread over the
 * domain are rewritten together as long as that is enough, and with the files that they lie across when it is not. A set that is a small
 * part of its partition is written to more files, which are smaller: its rows lie so far apart that a few files were boxes across many of
 * the others.
 *
 * <p>Files that their sizes call for are rewritten as long as filters read no more than today, or than after a rewrite of everything; else
 * as many as do no harm. A layout has smaller files, too, which lie far apart, and are read more when they are made one.
 *
 * <p>Bounds do not tell all. That one value holds most rows, by which no layout can cut, and that a column follows another, so that files
 * may be tighter than by each for itself, is learned from what earlier rewrites by the same sort order wrote.
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
  private static final int LEAST_OF_A_RUN = 8;

  /** By less, differences are those of the predictions themselves, and of few files by chance. */
  private static final double MATTERS = 7.0 / 6;

  private final PartitionRows partition;
  private final DataFiles files;
  private final UpkeepRequest request;
  private final double missed;
  private final double today;
  private final PartitionRows.Rewritten everything;

  /**
   * Prepares a search.
   *
   * @param partition the rows of all files
   * @param missed so many times as much as predicted new files are read for
   */
  private Gain(PartitionRows partition, DataFiles files, UpkeepRequest request, double missed) {
    this.partition = partition;
    this.files = files;
    this.request = request;
    this.missed = missed;
    int[] all = IntStream.range(0, files.count()).toArray();
    this.today = partition.cost(all);
    this.everything = rewritten(all, false);
  }

  private static Gain of(DataFiles files, int rows, UpkeepRequest request, boolean[] like) {
    return new Gain(PartitionRows.of(files, rows, request, like), files, request, 1);
  }

  /** The search with what the files of earlier rewrites show of the rows. */
  private static Gain learned(DataFiles files, int[] runs, int rows, UpkeepRequest request) {
    Gain gain = of(files, rows, request, null);
    List<int[]> known = knownRewrites(files, runs, request);
    if (known.isEmpty()) {
      return gain;
    }
    int[] largest = known.stream().reduce((one, other) -> bytes(files, other) > bytes(files, one) ? other : one).get();
    if (largest.length < files.count()) {
      boolean[] like = new boolean[files.count()];
      Arrays.stream(largest).forEach(file -> like[file] = true);
      Gain alike = of(files, rows, request, like);
      gain = MATTERS * alike.everything.cost() < gain.everything.cost() ? alike : gain;
    }
    if (gain.today <= request.maxScanRatio() * gain.everything.cost()) {
      return gain;
    }
    double least = known.stream().mapToDouble(written -> timesPredicted(files.take(written), rows, request.of(written))).min().getAsDouble();
    return least > MATTERS ? new Gain(gain.partition, files, request, least) : gain;
  }

  /** The earlier rewrites whose files show what another one brings: the places of the files of each. */
  private static List<int[]> knownRewrites(DataFiles files, int[] runs, UpkeepRequest request) {
    return IntStream.rangeClosed(0, Arrays.stream(runs).max().orElse(-1))
        .mapToObj(run -> IntStream.range(0, runs.length).filter(file -> runs[file] == run).toArray())
        .filter(written -> shows(files, written, request))
        .toList();
  }

  /** Whether files that a rewrite wrote show what another one brings: enough of them, with all their bounds. */
  private static boolean shows(DataFiles files, int[] written, UpkeepRequest request) {
    if (written.length < LEAST_OF_A_RUN || isSmallPart(bytes(files, written), files.bytes())) {
      return false;
    }
    return IntStream.range(0, files.columns().size())
        .filter(place -> request.weights()[place] != 0)
        .mapToObj(files.columns()::get)
        .allMatch(column -> Arrays.stream(written).allMatch(file -> column.isBounded(file) || !column.hasValues(file)));
  }

  /** How many times as much the files of a rewrite are read for as is predicted of a rewrite to as many. */
  private static double timesPredicted(DataFiles files, int rows, UpkeepRequest request) {
    int[] every = IntStream.range(0, files.count()).toArray();
    PartitionRows partition = PartitionRows.of(files, rows, request, null);
    double predicted = partition.rewritten(every, files.count(), request.layout()).cost();
    return predicted == 0 ? 1 : partition.cost(every) / predicted;
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
   * @param calledFor which of them their sizes call for: they are rewritten as far as that does no harm
   * @param isDue which of these are rewritten whatever comes of it
   * @param runs for each file, the number of the rewrite by the same sort order that wrote it, from 0; -1 where none did
   * @param rows how many rows to judge by, see {@link #rowsToSpread}
   * @param request what is worth a rewrite
   * @return the files that are called for, or due, and those whose rewrite pays
   */
  public static Choice choose(
      DataFiles files, boolean[] calledFor, boolean[] isDue, int[] runs, int rows, UpkeepRequest request) {
    Gain gain = learned(files, runs, rows, request);
    PartitionRows.Rewritten all = gain.everything;
    Found found = gain.found(IntStream.range(0, files.count()).filter(file -> calledFor[file]).toArray());
    boolean isFiner = false;
    double limit = request.maxScanRatio() * all.cost();
    // Files of the size that is asked for are read more than smaller ones: that is no loss.
    double unharmed = Math.min(limit, Math.max(gain.today, all.cost())) * AS_MUCH;
    // A file by itself is left to the rules of sizes.
    if (found.after > unharmed && files.count() > 1) {
      double[] attained = gain.partition.average(all.reach());
      Found due = gain.found(IntStream.range(0, files.count()).filter(file -> isDue[file]).toArray());
      int[] order = gain.order(isDue, attained);
      if (due.after > limit) {
        found = gain.best(order, gain.counts(order, due.files.length), attained, new Found(order, all.cost()), limit);
        isFiner = request.isFiner(gain.bytes(found.files), files.bytes());
      } else {
        int[] wanted = Arrays.stream(order).filter(file -> calledFor[file] && !isDue[file]).toArray();
        found = gain.most(wanted, due, Math.max(due.after, all.cost()) * AS_MUCH);
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
    PartitionRows.Rewritten found = partition.rewritten(chosen, wanted, request.layout());
    double[] reach = Arrays.stream(found.reach()).map(each -> each * missed).toArray();
    return new PartitionRows.Rewritten(found.cost() * missed, reach);
  }

  private long bytes(int[] chosen) {
    return bytes(files, chosen);
  }

  private static long bytes(DataFiles files, int[] chosen) {
    return Arrays.stream(chosen).mapToLong(file -> files.sizes()[file]).sum();
  }

  /** Predicts what all files cost when some are rewritten, whose places ascend. */
  private double after(int[] chosen, boolean forGain) {
    return chosen.length == 0 ? today : today - partition.cost(chosen) + rewritten(chosen, forGain).cost();
  }

  /**
   * Takes as many of the files that are called for, besides what is due, as fewer come of and that do no harm. Small files that lie far
   * apart, as a layout may have some, are read more when they are one. Those that lie across others most come first.
   *
   * @param wanted what is called for and not due, in the order in which it is taken
   * @param unharmed what all files may cost
   */
  private Found most(int[] wanted, Found due, double unharmed) {
    for (int count = wanted.length * 2 / 3; count > 1; count = count * 2 / 3) {
      int[] chosen = IntStream.concat(Arrays.stream(due.files), Arrays.stream(wanted, 0, count)).sorted().toArray();
      if (request.expectedFiles().applyAsInt(bytes(chosen)) < chosen.length) {
        Found found = found(chosen);
        if (found.after <= unharmed) {
          return found;
        }
      }
    }
    return due;
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
   * Finds the set that stays furthest below a limit for its bytes; the one of all files does. No set is predicted to leave its files read
   * for less than a rewrite of everything does. Where that were no better than what is found already, the set is not looked at: growing
   * trees is what takes the time.
   *
   * @param order the files in the order in which they are taken
   * @param counts how many of them the sets take
   * @param attained for each file, what its rows are read for after a rewrite of everything
   * @param all the set of all files
   */
  private Found best(int[] order, int[] counts, double[] attained, Found all, double limit) {
    double[] ends = ends(order);
    double[] most = most(order, counts, attained, limit);
    Found best = all;
    double score = (limit - all.after) / Math.max(1, ends[ends.length - 1]);
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
      int[] chosen = Arrays.copyOf(order, counts[place]);
      Arrays.sort(chosen);
      double after = after(chosen, true);
      double worth = (limit - after) / Math.max(1, ends[counts[place] - 1]);
      if (after <= limit && worth > score) {
        best = new Found(chosen, after);
        score = worth;
      }
    }
    return new Found(Arrays.stream(best.files).sorted().toArray(), best.after);
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
