package io.icebergzorder.core;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Chooses the row groups to read for a file group's sample: few of many, evenly spread over its rows.
 *
 * <p>Rows of one row group resemble each other, so a sample from many row groups is more informative. Rows are laid end to end in commit
 * order and cut into equal stretches with one point each. A point selects the row group that it falls into, and all points stand for equal
 * numbers of sampled rows. This happens on three levels: commits, files of a commit, row groups of a file. The place of a point within its
 * stretch advances by the golden ratio. With equal distances, periodic data, such as loads that differ by weekday, could be sampled at one
 * phase only; random places are less even.
 */
public final class SampledRowGroups {
  /** Largest cluster effect at which a sample of some row groups represents the table. */
  private static final double LARGEST_EFFECT = 0.1;

  private static final long FEWEST = 8;
  private static final long AT_MOST_ONE_IN = 4;
  private static final long ENOUGH = 40;
  private static final long AT_LEAST_ONE_IN = 25;
  private static final long PER_OUTPUT_FILE = 18;
  private static final long CLUSTERS_PER_OUTPUT_FILE = 4;
  private static final long DENSEST = 2;
  private static final int PHASE_BITS = 16;
  // The fraction of the golden ratio is least close to any period (Kronecker's sequence).
  private static final long TURN_OF_POINTS = 40_503;
  // 1/p and 1/p^2 of the plastic number p, which spread points evenly over two dimensions (M. Roberts' R2 sequence).
  private static final long TURN_OF_FILES = 49_472;
  private static final long TURN_OF_ROW_GROUPS = 37_345;
  private static final long SEED_FACTOR = 0x9E3779B97F4A7C15L;

  private final List<SampledFile> files;
  private final List<List<Range>> rowGroups;
  private final long[] ends;
  private final long[][] lengths;
  private final long[][] hits;

  private SampledRowGroups(List<SampledFile> files) {
    this.files = files;
    this.rowGroups = files.stream().map(SampledFile::rowGroups).toList();
    this.lengths = new long[files.size()][];
    this.hits = new long[files.size()][];
    this.ends = rowGroups.stream().mapToLong(SampledRowGroups::endOfRows).toArray();
    Arrays.setAll(
        lengths,
        at -> rowGroups.get(at).stream().mapToLong(range -> rowAt(at, range.end()) - rowAt(at, range.start())).toArray());
    Arrays.setAll(hits, at -> new long[lengths[at].length]);
  }

  /** A data file's manifest entry: its rows, including deleted ones, and the offsets of its row groups. */
  public record SampledFile(String path, long sequenceNumber, long rows, long size, List<Long> offsets) {
    public SampledFile {
      offsets = List.copyOf(offsets);
    }

    /** The byte ranges of its row groups; the whole file if they are unknown. */
    List<Range> rowGroups() {
      List<Range> found = new ArrayList<>();
      for (int i = 0; i < offsets.size(); i++) {
        long end = i + 1 < offsets.size() ? offsets.get(i + 1) : size;
        if (offsets.get(i) >= end) {
          return List.of(new Range(0, size));
        }
        found.add(new Range(i == 0 ? 0 : offsets.get(i), end));
      }
      return found.isEmpty() ? List.of(new Range(0, size)) : found;
    }
  }

  /** A byte range of a file; the end is excluded. */
  public record Range(long start, long end) {}

  /**
   * A sampled row group.
   *
   * @param number its number among the file group's sampled row groups, in commit order
   * @param range the byte range that holds its middle
   * @param firstPosition its estimated first row position
   * @param sampledRows the estimated number of its sampled rows
   */
  public record RowGroup(int number, Range range, long firstPosition, long sampledRows, long rows) {}

  /** Returns the row groups to read of each data file for a number of rows, more if they are clusters; empty to read all. */
  public static Optional<List<List<RowGroup>>> of(List<SampledFile> files, long rows, long outputFiles, long seed, boolean areClusters) {
    long total = files.stream().mapToLong(SampledFile::rows).sum();
    if (DENSEST * rows >= total) {
      return Optional.empty();
    }
    SampledRowGroups choice = new SampledRowGroups(files);
    long effective = choice.effective();
    long points = points(effective, total, rows, outputFiles);
    if (areClusters) {
      points = Math.max(points, Math.max(effective / AT_MOST_ONE_IN, CLUSTERS_PER_OUTPUT_FILE * outputFiles));
    }
    if (points >= Math.min(effective, total)) {
      return Optional.empty();
    }
    List<List<Integer>> commits = choice.commits();
    choice.hit(commits, points, seed);
    long wanted = choice.rowsPerPoint(points, rows);
    return wanted == 0 ? Optional.empty() : Optional.of(choice.chosen(commits, wanted));
  }

  /** The estimated byte after a file's last row, if the last row group is at most as large as the average. */
  private static long endOfRows(List<Range> rowGroups) {
    Range last = rowGroups.get(rowGroups.size() - 1);
    return last.start() > 0 ? Math.min(last.end(), last.start() + last.start() / (rowGroups.size() - 1)) : last.end();
  }

  /** The estimated row at a byte, if all rows have equal size. */
  private long rowAt(int file, long offset) {
    return timesOver(files.get(file).rows(), Math.min(offset, ends[file]), ends[file]);
  }

  /** By commit and path, compared as UTF-8: a commit numbers its files by the tasks that wrote them. */
  private static int compare(SampledFile one, SampledFile other) {
    int bySequence = Long.compare(one.sequenceNumber(), other.sequenceNumber());
    return bySequence != 0
        ? bySequence
        : Arrays.compareUnsigned(
            one.path().getBytes(StandardCharsets.UTF_8), other.path().getBytes(StandardCharsets.UTF_8));
  }

  /** How many row groups of equal sizes would be as many: with unequal sizes, few hold most of the rows. */
  private long effective() {
    BigInteger sum = BigInteger.ZERO;
    BigInteger ofSquares = BigInteger.ZERO;
    for (int at = 0; at < files.size(); at++) {
      for (Range range : rowGroups.get(at)) {
        BigInteger size = BigInteger.valueOf(Math.min(range.end(), ends[at]) - range.start());
        sum = sum.add(size);
        ofSquares = ofSquares.add(size.multiply(size));
      }
    }
    return sum.multiply(sum).divide(ofSquares).longValueExact();
  }

  /** The number of points. */
  private static long points(long rowGroups, long total, long rows, long outputFiles) {
    long ofFiles = BigInteger.valueOf(PER_OUTPUT_FILE * outputFiles - 1).sqrt().longValueExact() + 1;
    long ofRows = -Math.floorDiv(-DENSEST * rows * rowGroups, total);
    long ofRowGroups = Math.max(Math.min(rowGroups / AT_MOST_ONE_IN, ENOUGH), rowGroups / AT_LEAST_ONE_IN);
    return LongStream.of(FEWEST, ofRowGroups, ofFiles, ofRows).max().getAsLong();
  }

  /** Counts the points in every row group. */
  private void hit(List<List<Integer>> commits, long points, long seed) {
    long phase = seed * SEED_FACTOR + Long.MIN_VALUE >>> 64 - PHASE_BITS;
    long[] inCommits = spread(commits.stream().mapToLong(this::rows).toArray(), points, phase);
    long commitsHit = 0;
    long filesHit = 0;
    for (int commit = 0; commit < inCommits.length; commit++) {
      if (inCommits[commit] == 0) {
        continue;
      }
      List<Integer> members = commits.get(commit);
      long[] rows = members.stream().mapToLong(at -> files.get(at).rows()).toArray();
      long[] inFiles = spread(rows, inCommits[commit], phase + commitsHit++ * TURN_OF_FILES);
      for (int member = 0; member < inFiles.length; member++) {
        if (inFiles[member] > 0) {
          int at = members.get(member);
          hits[at] = spread(lengths[at], inFiles[member], phase + filesHit++ * TURN_OF_ROW_GROUPS);
        }
      }
    }
  }

  /** The files by commit, in order. */
  private List<List<Integer>> commits() {
    List<Integer> order =
        IntStream.range(0, files.size())
            .boxed()
            .sorted(Comparator.comparing(files::get, SampledRowGroups::compare))
            .toList();
    List<List<Integer>> commits = new ArrayList<>();
    for (int i = 0; i < order.size(); i++) {
      if (i == 0 || files.get(order.get(i)).sequenceNumber() != files.get(order.get(i - 1)).sequenceNumber()) {
        commits.add(new ArrayList<>());
      }
      commits.get(commits.size() - 1).add(order.get(i));
    }
    return commits;
  }

  private long rows(List<Integer> commit) {
    return commit.stream().mapToLong(at -> files.get(at).rows()).sum();
  }

  /** Lays lengths end to end, cuts them into equal stretches, and counts in each the points, one of every stretch. */
  private static long[] spread(long[] lengths, long points, long phase) {
    long stretch = Arrays.stream(lengths).sum() / points;
    long[] counts = new long[lengths.length];
    long end = 0;
    long before = 0;
    for (int i = 0; i < lengths.length; i++) {
      end += lengths[i];
      long after = pointsBelow(end, stretch, points, phase);
      counts[i] = after - before;
      before = after;
    }
    return counts;
  }

  private static long pointsBelow(long end, long stretch, long points, long phase) {
    long place = end / stretch;
    if (place >= points) {
      return points;
    }
    long turned = phase + place * TURN_OF_POINTS & (1 << PHASE_BITS) - 1;
    return place + (place * stretch + timesOver(turned, stretch, 1 << PHASE_BITS) < end ? 1 : 0);
  }

  /** The number of sampled rows per point that gives enough rows; 0 if impossible. */
  private long rowsPerPoint(long points, long rows) {
    if (sampled(Long.MAX_VALUE / points) < rows) {
      return 0;
    }
    long wanted = 0;
    for (long lacking = rows; lacking > 0; lacking = rows - sampled(wanted)) {
      wanted += -Math.floorDiv(-lacking, points);
    }
    return wanted;
  }

  private long sampled(long rowsPerPoint) {
    long rows = 0;
    for (int at = 0; at < hits.length; at++) {
      for (int place = 0; place < hits[at].length; place++) {
        rows += Math.min(lengths[at][place], hits[at][place] * rowsPerPoint);
      }
    }
    return rows;
  }

  private List<List<RowGroup>> chosen(List<List<Integer>> commits, long rowsPerPoint) {
    List<List<RowGroup>> chosen = new ArrayList<>(Collections.nCopies(files.size(), List.of()));
    int number = 0;
    for (List<Integer> commit : commits) {
      for (int at : commit) {
        List<RowGroup> ofFile = new ArrayList<>();
        long end = 0;
        for (int place = 0; place < hits[at].length; place++) {
          if (hits[at][place] > 0) {
            Range range = rowGroups.get(at).get(place);
            long firstPosition = ofFile.isEmpty() ? 0 : rowAt(at, (end + range.start()) / 2);
            end = range.end();
            ofFile.add(new RowGroup(number++, range, firstPosition, hits[at][place] * rowsPerPoint, lengths[at][place]));
          }
        }
        chosen.set(at, List.copyOf(ofFile));
      }
    }
    return List.copyOf(chosen);
  }

  /** Whether a sample was read from too few row groups; {@code rowGroups} has the number of each row's. */
  public static boolean areClusters(Layout layout, Sample sample, int[] rowGroups) {
    if (sample.rows() == 0) {
      return false;
    }
    Placement placement = layout.placement();
    int[] files = Arrays.stream(layout.packed(sample)).mapToInt(packed -> placement.file(packed, 0)).toArray();
    return effect(files, rowGroups, layout.files()) > LARGEST_EFFECT;
  }

  /** Estimates how uneven output files will be because the rows of row groups resemble each other. */
  static double effect(int[] files, int[] rowGroups, int outputFiles) {
    int last = Arrays.stream(rowGroups).max().getAsInt();
    long[] sorted = IntStream.range(0, files.length).mapToLong(row -> (long) files[row] << 32 | rowGroups[row]).sorted().toArray();
    long squares = 0;
    long before = -1;
    long countBefore = 0;
    for (int start = 0, end; start < sorted.length; start = end) {
      long pair = sorted[start];
      end = start;
      while (end < sorted.length && sorted[end] == pair) {
        end++;
      }
      long count = end - start;
      if (before >= 0 && pair == before + 1) {
        squares += (count - countBefore) * (count - countBefore);
      } else {
        // The first and the last row group have only one neighbour.
        squares += ((int) before < last ? countBefore * countBefore : 0) + ((int) pair > 0 ? count * count : 0);
      }
      before = pair;
      countBefore = count;
    }
    squares += (int) before < last ? countBefore * countBefore : 0;
    return (double) (squares - 2L * files.length) * outputFiles / (2.0 * files.length * files.length);
  }

  private static long timesOver(long one, long other, long by) {
    return BigInteger.valueOf(one).multiply(BigInteger.valueOf(other)).divide(BigInteger.valueOf(by)).longValueExact();
  }
}
