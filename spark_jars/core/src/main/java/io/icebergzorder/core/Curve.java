package io.icebergzorder.core;

import java.util.Arrays;
import java.util.Locale;

/** The curves that order rows. */
public enum Curve {
  /** The positions' bits interleaved: see {@code ZOrderCurve}. */
  ZORDER,
  /** The Hilbert curve, for at most eight columns. */
  HILBERT;

  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static Curve of(String label) {
    return Arrays.stream(values())
        .filter(curve -> curve.label().equals(label))
        .findFirst()
        .orElseThrow(
            () -> new IllegalArgumentException("Cannot use curve '%s', because there is no such curve".formatted(label)));
  }

  /** The interleaved index (z-value): the bits of the positions of one row, round robin from the most significant, first column first. */
  // bits = 3, a = 0b110, b = 0b011: a2 b2 a1 b1 a0 b0 = 0b101101 = 45. The index is the bitwise OR of the columns' shares, 63 bits at most.
  // Source: G. M. Morton, "A Computer Oriented Geodetic Data Base and a New Technique in File Sequencing", IBM 1966.
  static final class ZOrderCurve {
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

  /** The Hilbert curve through a cube of up to eight dimensions, by a table of what each corner is in each state of the curve. */
  // Source: C. H. Hamilton, "Compact Hilbert Indices", Dalhousie University, technical report CS-2006-07, 2006.
  static final class HilbertCurve {
    /** The most columns; the table of nine would have ten million entries. */
    static final int MAX_COLUMNS = 8;

    private static final HilbertCurve[] CURVES = new HilbertCurve[MAX_COLUMNS + 1];

    private final int columns;

    /** By state and corner: the next state, above the digit. */
    private final int[] table;

    private HilbertCurve(int columns) {
      this.columns = columns;
      this.table = table(columns);
    }

    /** The curve through so many dimensions, of which each table is made once. */
    static synchronized HilbertCurve of(int columns) {
      if (CURVES[columns] == null) {
        CURVES[columns] = new HilbertCurve(columns);
      }
      return CURVES[columns];
    }

    /** Where an index of {@link ZOrderCurve} lies on the curve; columns * bits is at most 63. */
    long index(long zorder, int bits) {
      int corners = (1 << columns) - 1;
      long index = 0;
      int state = 0;
      for (int shift = (bits - 1) * columns; shift >= 0; shift -= columns) {
        int entry = table[state << columns | (int) (zorder >>> shift) & corners];
        index = index << columns | entry & corners;
        state = entry >>> columns;
      }
      return index;
    }

    private static int[] table(int columns) {
      int corners = 1 << columns;
      int[] table = new int[corners * columns << columns];
      for (int state = 0; state < corners * columns; state++) {
        int entry = state / columns;
        int turn = (state % columns + 1) % columns;
        for (int corner = 0; corner < corners; corner++) {
          int digit = grayRank(rotated(corner ^ entry, columns - turn, columns));
          int childEntry = entry ^ rotated(entryOf(digit), turn, columns);
          int childAxis = (state % columns + axisOf(digit, columns) + 1) % columns;
          table[state << columns | corner] = childEntry * columns + childAxis << columns | digit;
        }
      }
      return table;
    }

    private static int rotated(int value, int left, int columns) {
      int by = left % columns;
      return (value << by | value >>> columns - by) & (1 << columns) - 1;
    }

    private static int grayRank(int code) {
      int rank = 0;
      for (int rest = code; rest != 0; rest >>>= 1) {
        rank ^= rest;
      }
      return rank;
    }

    /** The corner where the curve enters the sub-cube of a digit. */
    private static int entryOf(int digit) {
      int even = Math.max(0, digit - 1) & ~1;
      return even ^ even >>> 1;
    }

    /** The axis that the sub-cube of a digit is crossed along: by the trailing ones of it or of the one before. */
    private static int axisOf(int digit, int columns) {
      int ones = (digit & 1) == 1 ? digit : Math.max(0, digit - 1);
      return Integer.numberOfTrailingZeros(~ones) % columns;
    }
  }
}
