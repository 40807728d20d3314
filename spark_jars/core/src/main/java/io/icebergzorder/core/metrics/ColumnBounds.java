package io.icebergzorder.core.metrics;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Keys.KeyDomain;
import java.util.Arrays;

/**
 * Lower/upper bounds of a column, one element per data file. The arrays are kept, not copied: do not change them.
 *
 * @param lower as keys, truncated or not; of the state {@link KeyColumn#VALUE} where there is one
 * @param valued the share of the rows that have a value, neither NULL nor NaN, in [0, 1]; 1 where it is not known
 */
public record ColumnBounds(ClusteringColumn column, KeyColumn lower, KeyColumn upper, double[] valued) {
  /** Of so many values hardly two rows share one. */
  private static final long MOST = (1L << 48) - 1;

  public int size() {
    return valued.length;
  }

  /** Whether a file may hold a value. */
  public boolean hasValues(int file) {
    return valued[file] > 0;
  }

  /** Whether a file may hold a value, and has both bounds. */
  public boolean isBounded(int file) {
    return hasValues(file) && lower.state(file) == KeyColumn.VALUE && upper.state(file) == KeyColumn.VALUE;
  }

  boolean isAnyBounded() {
    for (int file = 0; file < valued.length; file++) {
      if (isBounded(file)) {
        return true;
      }
    }
    return false;
  }

  /** Whether there may be values, and no file has bounds of them. */
  public boolean isOpen() {
    return !isAnyBounded() && Arrays.stream(valued).anyMatch(share -> share > 0);
  }

  /** Has each file with values span all of them; integers stand for the values, whatever their type. */
  public ColumnBounds spanned() {
    byte[] states = new byte[valued.length];
    long[] most = new long[valued.length];
    for (int file = 0; file < valued.length; file++) {
      states[file] = hasValues(file) ? KeyColumn.VALUE : KeyColumn.NULL;
      most[file] = hasValues(file) ? MOST : 0;
    }
    return new ColumnBounds(
        new ClusteringColumn(column.parts(), "long"),
        KeyColumn.ofLongs(new long[valued.length], states),
        KeyColumn.ofLongs(most, states),
        valued);
  }

  /** Describes files that have no bounds of a column: what values they hold is open. */
  static ColumnBounds none(ClusteringColumn column, double[] valued) {
    byte[] states = new byte[valued.length];
    Arrays.fill(states, KeyColumn.NULL);
    KeyColumn none =
        column.domain() == KeyDomain.LONG
            ? KeyColumn.ofLongs(new long[states.length], states)
            : KeyColumn.ofBytes(new byte[states.length][], states);
    return new ColumnBounds(column, none, none, valued);
  }

  /** The same files without their bounds. */
  public ColumnBounds unbounded() {
    return none(column, valued);
  }

  /** The same files; of bounds of bytes, what is within a length. */
  public ColumnBounds cut(int length) {
    return new ColumnBounds(column, lower.cut(length), upper.cut(length), valued);
  }

  public ColumnBounds take(int[] places) {
    double[] shares = Arrays.stream(places).mapToDouble(place -> valued[place]).toArray();
    return new ColumnBounds(column, lower.take(places), upper.take(places), shares);
  }
}
