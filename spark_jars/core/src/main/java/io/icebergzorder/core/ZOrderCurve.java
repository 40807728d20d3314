package io.icebergzorder.core;

/**
 * The interleaved index (z-value): the bits of the positions of one row, round robin from the most
 * significant, first column first.
 *
 * <pre>
 *   bits = 3, columns a and b:      0 ... 0  a2 b2  a1 b1  a0 b0
 *   a = 0b110, b = 0b011:                     1  0   1  1   0  1   = 45
 * </pre>
 *
 * <p>The index of columns * bits bits, at most 63, is a non-negative long.
 *
 * <p>Source: G. M. Morton, "A Computer Oriented Geodetic Data Base and a New Technique in File
 * Sequencing", IBM 1966.
 */
public final class ZOrderCurve {
  /** The name of the curve in a sort order and in a layout. */
  public static final String NAME = "zorder";

  /** The most bits an index has, so that it is a non-negative long. */
  public static final int MAX_INDEX_BITS = Long.SIZE - 1;

  private ZOrderCurve() {}

  /**
   * The index of one row.
   *
   * @param positions one position a column, each in [0, 2^bits); no column gives the index 0
   * @param bits the bits of a position; positions.length * bits is in [0, 63]
   * @return an index in [0, 2^(positions.length * bits))
   * @throws IllegalArgumentException if a position or the number of bits lies outside its interval
   */
  public static long index(int[] positions, int bits) {
    checkBits(positions.length, bits);
    long index = 0;
    for (int column = 0; column < positions.length; column++) {
      index |= contribution(positions[column], column, positions.length, bits);
    }
    return index;
  }

  /**
   * What one column adds to the index: the index of a row is the bitwise OR of the contributions of its
   * positions, one a column. With a table of them per bucket no bit is moved while rows are written.
   *
   * @param positions any number of positions of the column, each in [0, 2^bits)
   * @param column the place of the column, in [0, columns)
   * @param columns the number of columns
   * @param bits the bits of a position; columns * bits is in [0, 63]
   * @return the contribution of each position; length positions.length
   * @throws IllegalArgumentException if a position, column or number of bits lies outside its interval
   */
  public static long[] spread(int[] positions, int column, int columns, int bits) {
    checkBits(columns, bits);
    if (column < 0 || column >= columns) {
      throw new IllegalArgumentException(
          "Cannot interleave column %d, because it must be in [0, %d)".formatted(column, columns));
    }
    long[] spread = new long[positions.length];
    for (int i = 0; i < positions.length; i++) {
      spread[i] = contribution(positions[i], column, columns, bits);
    }
    return spread;
  }

  private static long contribution(int position, int column, int columns, int bits) {
    if (position < 0 || (long) position >> bits != 0) {
      throw new IllegalArgumentException(
          "Cannot interleave position %d, because it must be in [0, 2^%d)".formatted(position, bits));
    }
    long contribution = 0;
    for (int bit = 0; bit < bits; bit++) {
      contribution |= (position >> bit & 1L) << (bit * columns + columns - 1 - column);
    }
    return contribution;
  }

  private static void checkBits(int columns, int bits) {
    if (bits < 0 || bits > Positions.MAX_BITS || columns * bits > MAX_INDEX_BITS) {
      throw new IllegalArgumentException(
          "Cannot interleave %d columns of %d bits, because bits must be in [0, %d] and the index has %d"
              .formatted(columns, bits, Positions.MAX_BITS, MAX_INDEX_BITS));
    }
  }
}
