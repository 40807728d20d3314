package io.icebergzorder.core;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;

/**
 * Judges whether what lower/upper bounds keep of a column's values tells apart what its layouts tell apart.
 *
 * <p>Files of a layout lie between the boundaries of its columns. Where two boundaries that follow each other begin alike as far as
 * bounds are kept, files on either side of the second one look alike, and none of them can be skipped for the other. A pair of
 * boundaries <em>needs</em> one character more than they have in common.
 *
 * @param pairs how many pairs there are, of all file groups
 * @param separated how many of them what is kept tells apart
 * @param wanted the shortest beginning that would do, longer than what is kept and at most {@link #MOST}; empty if only whole values do
 */
public record MetricsCheck(long pairs, long separated, OptionalInt wanted) {
  /** What the table properties of metrics modes begin with; the full name of a column follows. */
  public static final String COLUMN_MODE = "write.metadata.metrics.column.";

  /** The longest beginning that is worth keeping instead of whole values. */
  public static final int MOST = 256;

  /** The shortest beginning that is wanted where nothing is kept: what Iceberg keeps by default. */
  public static final int LEAST = 16;

  private static final int ENOUGH_PERCENT = 95;
  private static final int PERCENT = 100;

  /**
   * Writes the statement that sets a column's metrics mode.
   *
   * @param table the table's name, as SQL has it
   * @param field the column's full name in properties
   */
  public static String setMode(String table, String field, String mode) {
    return "ALTER TABLE %s SET TBLPROPERTIES (%s = '%s')"
        .formatted(table, ClusteringColumn.quotedText(COLUMN_MODE + field), mode);
  }

  /**
   * What is known of a column in one file group.
   *
   * @param keys the smallest sampled key, then the boundaries that are greater; ascending
   * @param alone whether the layout has left the column out, and its sampled keys were cut: nobody knows how much tells its values
   *     apart
   */
  public record GroupKeys(List<byte[]> keys, boolean alone) {
    /**
     * Takes what a layout and the sample that it was fitted to tell of a column of bytes.
     *
     * @param ordinal the column's place in the sample
     * @param cut the bytes at which keys were cut in the sample
     */
    public static GroupKeys of(Layout layout, Sample sample, int ordinal, int cut) {
      KeyColumn column = sample.columns().get(ordinal);
      for (LayoutColumn each : layout.columns()) {
        List<byte[]> keys =
            each.ordinal() == ordinal ? ascending(column, (BytesBoundaries) each.boundaries()) : List.of();
        if (keys.size() > 1) {
          return new GroupKeys(keys, false);
        }
      }
      // All its keys are one; NULL may divide the column.
      boolean isCut = false;
      for (int row = 0; row < column.size() && !isCut; row++) {
        isCut = column.state(row) == KeyColumn.VALUE && column.bytesKey(row).length >= cut;
      }
      return new GroupKeys(List.of(), isCut);
    }

    private static List<byte[]> ascending(KeyColumn column, BytesBoundaries boundaries) {
      byte[] smallest = null;
      for (int row = 0; row < column.size(); row++) {
        boolean isSmaller =
            column.state(row) == KeyColumn.VALUE
                && (smallest == null || Arrays.compareUnsigned(column.bytesKey(row), smallest) < 0);
        smallest = isSmaller ? column.bytesKey(row) : smallest;
      }
      List<byte[]> keys = new ArrayList<>();
      if (smallest != null) {
        keys.add(smallest);
      }
      for (byte[] boundary : boundaries.values()) {
        if (smallest == null || Arrays.compareUnsigned(boundary, smallest) > 0) {
          keys.add(boundary);
        }
      }
      return keys;
    }
  }

  /**
   * Judges a column.
   *
   * @param isText whether its keys are counted in characters of UTF-8, not in bytes
   * @param kept the characters or bytes that bounds keep, 0 if none
   * @param groups what is known of it in each file group, looked at once
   */
  public static MetricsCheck of(boolean isText, int kept, Iterable<GroupKeys> groups) {
    long pairs = 0;
    long separated = 0;
    long[] needs = new long[MOST + 1];
    for (GroupKeys group : groups) {
      pairs += group.alone() ? 1 : 0;
      int[] before = null;
      for (byte[] key : group.keys()) {
        int[] next = units(key, isText);
        if (before != null) {
          int need = need(before, next);
          pairs++;
          separated += need <= kept ? 1 : 0;
          needs[Math.min(need, MOST + 1) - 1]++;
        }
        before = next;
      }
    }
    return new MetricsCheck(pairs, separated, wanted(needs, pairs, kept));
  }

  /** Finds the shortest beginning; of the needs the first is of those of one character, the last of all that are too long. */
  private static OptionalInt wanted(long[] needs, long pairs, int kept) {
    long separated = 0;
    for (int length = 1; length <= MOST; length++) {
      separated += needs[length - 1];
      if (length > kept && isEnough(separated, pairs)) {
        return OptionalInt.of(kept == 0 ? Math.max(LEAST, length) : length);
      }
    }
    return OptionalInt.empty();
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

  private static boolean isEnough(long separated, long pairs) {
    return PERCENT * separated >= ENOUGH_PERCENT * pairs;
  }

  /** Whether what is kept is enough. */
  public boolean isEnough() {
    return isEnough(separated, pairs);
  }

  /** How many percent of the pairs what is kept tells apart, rounded down; there is at least one pair. */
  public long share() {
    return PERCENT * separated / pairs;
  }
}
