package io.icebergzorder.core;

/** The interleaved index (z-value): the bits of the positions of one row, round robin from the most significant, first column first. */
// bits = 3, a = 0b110, b = 0b011: a2 b2 a1 b1 a0 b0 = 0b101101 = 45. The index is the bitwise OR of the columns' shares, 63 bits at most.
// Source: G. M. Morton, "A Computer Oriented Geodetic Data Base and a New Technique in File Sequencing", IBM 1966.
final class ZOrderCurve {
  /** The most bits an index has, so that it is a non-negative long. */
  static final int MAX_INDEX_BITS = Long.SIZE - 1;

  private final int columns;

  /** The bits of every byte, {@code columns} apart. */
  private final long[] ofByte = new long[256];

  ZOrderCurve(int columns) {
    this.columns = columns;
    for (int value = 0; value < ofByte.length; value++) {
      for (int bit = 0; bit < Byte.SIZE && bit * columns < MAX_INDEX_BITS; bit++) {
        ofByte[value] |= (value >> bit & 1L) << bit * columns;
      }
    }
  }

  /** What a column adds to the index: bit i of its position goes to bit {@code i * columns + columns - 1 - column}. */
  long share(int position, int column) {
    long high = position >>> Byte.SIZE == 0 ? 0 : ofByte[position >>> Byte.SIZE] << Byte.SIZE * columns;
    return (high | ofByte[position & 0xFF]) << columns - 1 - column;
  }
}
