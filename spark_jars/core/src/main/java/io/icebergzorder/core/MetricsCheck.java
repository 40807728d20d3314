package io.icebergzorder.core;

import io.icebergzorder.core.Layout.LayoutColumn;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Checks whether a column's lower/upper bounds tell the buckets of its layouts apart.
 *
 * <p>Neighbouring buckets with the same kept prefix form a run: to find a row of one bucket, all rows of the run are read. The rows of the
 * run's largest bucket count as told apart, those of the others do not. Rows are counted, not values, because queries look for values about
 * as often as rows have them. The largest bucket of all does not count, so that a common default does not hide equal prefixes of the others.
 *
 * @param rows the sampled rows of all file groups, except those of each group's largest bucket
 * @param apart how many of them the kept prefixes tell apart
 * @param wanted the shortest longer prefix that is enough, at most {@link #MOST}; empty if none is known
 */
public record MetricsCheck(long rows, long apart, OptionalInt wanted) {
  /** What the table properties of metrics modes begin with; the full name of a column follows. */
  public static final String COLUMN_MODE = "write.metadata.metrics.column.";

  /** The longest beginning that is asked for: every entry of a manifest has two of them. */
  public static final int MOST = 256;

  /** The shortest beginning that is wanted where nothing is kept: what Iceberg keeps by default. */
  public static final int LEAST = 16;

  private static final int ENOUGH_PERCENT = 95;
  private static final int PERCENT = 100;

  /** Writes the statement that sets a column's metrics mode. */
  public static String setMode(String table, String field, String mode) {
    return "ALTER TABLE %s SET TBLPROPERTIES (%s = '%s')".formatted(table, ClusteringColumn.quotedText(COLUMN_MODE + field), mode);
  }

  /** The mode that keeps bounds of a type, and of strings and binaries no more than Iceberg's default. */
  public static String leastMode(String type) {
    return isCut(type) ? truncate(LEAST) : "full";
  }

  /** Whether bounds of a type may be cut to a beginning. */
  public static boolean isCut(String type) {
    return type.equals("string") || type.equals("binary");
  }

  public static String truncate(int length) {
    return "truncate(" + length + ")";
  }

  /**
   * What a file group is divided by in a column, and how its sampled rows lie in that.
   *
   * @param keys the smallest sampled key, then the boundaries that are greater: where buckets begin; ascending
   * @param rows for each, how many sampled rows have a value of its bucket
   * @param unseen how many other rows there are: they have values that differ from those, nobody knows where, because keys were cut
   */
  public record GroupKeys(List<byte[]> keys, List<Long> rows, long unseen) {
    /** Counts sampled rows by bucket; of values cut to one key the most frequent one counts, the others are unseen. */
    public static GroupKeys of(Layout layout, Sample sample, int ordinal, long[] tails) {
      KeyColumn column = sample.columns().get(ordinal);
      Boundaries boundaries =
          layout.columns().stream()
              .filter(each -> each.ordinal() == ordinal)
              .map(LayoutColumn::boundaries)
              .findFirst()
              .orElseGet(() -> Boundaries.of(column.take(new int[0]), 1));
      int[] valued = IntStream.range(0, column.size()).filter(row -> column.state(row) == KeyColumn.VALUE).toArray();
      if (valued.length == 0) {
        return new GroupKeys(List.of(), List.of(), 0);
      }
      List<byte[]> keys = new ArrayList<>();
      keys.add(Arrays.stream(valued).mapToObj(column::bytesKey).min(Arrays::compareUnsigned).orElseThrow());
      keys.addAll(Arrays.asList(boundaries.bytes()));
      long[] rows = new long[keys.size()];
      int[] same = new int[keys.size()];
      boolean[] ofCut = new boolean[keys.size()];
      int[] buckets = new int[column.size()];
      for (int row : valued) {
        int bucket = boundaries.bucket(column.bytesKey(row));
        buckets[row] = bucket;
        rows[bucket]++;
        same[bucket] += Arrays.equals(column.bytesKey(row), keys.get(bucket)) ? 1 : 0;
        ofCut[bucket] |= tails[row] != 0;
      }
      // A value may be exactly as long as keys are cut to: it has no tail, and is one more.
      Map<Integer, Map<Long, Long>> byTail =
          Arrays.stream(valued)
              .filter(row -> ofCut[buckets[row]] && rows[buckets[row]] == same[buckets[row]])
              .boxed()
              .collect(Collectors.groupingBy(row -> buckets[row], Collectors.groupingBy(row -> tails[row], Collectors.counting())));
      List<Long> seen = new ArrayList<>(Arrays.stream(rows).boxed().toList());
      byTail.forEach((bucket, counts) -> seen.set(bucket, Collections.max(counts.values())));
      return new GroupKeys(keys, seen, valued.length - sum(seen));
    }
  }

  /** Judges a column, of which bounds keep so many characters, or bytes unless it is text; 0 if there are none. */
  public static MetricsCheck of(boolean isText, int kept, Iterable<GroupKeys> groups) {
    NavigableMap<Integer, Long> needs = new TreeMap<>();
    long rows = 0;
    for (GroupKeys group : groups) {
      rows += group.unseen() + new Runs(needs).parted(group, isText);
    }
    return new MetricsCheck(rows, sum(needs.headMap(kept, true).values()), wanted(needs, rows, kept));
  }

  private static OptionalInt wanted(NavigableMap<Integer, Long> needs, long rows, int kept) {
    for (int length = kept + 1; length <= MOST; length++) {
      if (isEnough(sum(needs.headMap(length, true).values()), rows)) {
        return OptionalInt.of(kept == 0 ? Math.max(LEAST, length) : length);
      }
    }
    return OptionalInt.empty();
  }

  private static long sum(Collection<Long> rows) {
    return rows.stream().mapToLong(each -> each).sum();
  }

  /** Finds for each pair of neighbouring buckets how many rows it tells apart once it is told apart itself. */
  // On both sides of a pair are runs, which need more to be parted further; the rows of the largest bucket of each are told apart then,
  // so that it is the fewer of them that the pair adds.
  private static final class Runs {
    private final NavigableMap<Integer, Long> needs;
    private final Deque<Run> runs = new ArrayDeque<>();
    private long parted;

    Runs(NavigableMap<Integer, Long> needs) {
      this.needs = needs;
    }

    /** Buckets, by what tells them apart from the run before, and the rows of the largest. */
    private record Run(int need, long rows) {}

    /** Adds the pairs of a file group, and tells the rows of them all. */
    long parted(GroupKeys group, boolean isText) {
      int[] before = null;
      for (int i = 0; i < group.keys().size(); i++) {
        int[] next = units(group.keys().get(i), isText);
        add(new Run(before == null ? 0 : need(before, next), group.rows().get(i)));
        before = next;
      }
      add(new Run(0, 0));
      return parted;
    }

    /** Joins the runs that the next bucket is further from than they are from each other. */
    private void add(Run next) {
      while (runs.size() > 1 && runs.peek().need() >= next.need()) {
        Run last = runs.pop();
        Run first = runs.pop();
        long fewer = Math.min(first.rows(), last.rows());
        needs.merge(last.need(), fewer, Long::sum);
        parted += fewer;
        runs.push(new Run(first.need(), Math.max(first.rows(), last.rows())));
      }
      runs.push(next);
    }
  }

  private static int need(int[] one, int[] other) {
    int mismatch = Arrays.mismatch(one, other);
    // Keys that were cut in a character may differ in nothing that can be read.
    return 1 + (mismatch < 0 ? one.length : mismatch);
  }

  private static int[] units(byte[] key, boolean isText) {
    // One byte is one character in Latin-1, which serves for binary columns as UTF-8 does for text.
    return new String(key, isText ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1).codePoints().toArray();
  }

  private static boolean isEnough(long apart, long rows) {
    return PERCENT * apart >= ENOUGH_PERCENT * rows;
  }

  public boolean isEnough() {
    return isEnough(apart, rows);
  }

  /** How many percent of the rows what is kept tells apart, rounded down; there is at least one row. */
  public long share() {
    return PERCENT * apart / rows;
  }
}
