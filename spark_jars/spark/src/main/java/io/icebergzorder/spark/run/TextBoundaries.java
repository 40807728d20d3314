package io.icebergzorder.spark.run;

import io.icebergzorder.core.AscendingLongs;
import java.io.Serializable;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Ascending texts, or arrays of bytes, that are searched once for every row. */
// A key is looked up as one number, made of the seven bytes after those that all boundaries begin with. It is compared in full only with
// boundaries of the same number.
final class TextBoundaries implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Bytes of a text in its number. The number's last byte is the length of the rest, at most one more than these. */
  private static final int BYTES = Long.BYTES - 1;

  private static final boolean IS_LITTLE_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

  /** Most boundaries of one number that are searched directly. */
  private static final int FEW = 8;

  private final UTF8String[] boundaries;

  /** The common prefix of all boundaries. */
  private final UTF8String common;

  /** The numbers of the boundaries, each once. */
  private final AscendingLongs numbers;

  /** By number, its first boundary; one more entry for the end. */
  private final int[] starts;

  /** By number, its boundaries if they are more than a few, else null. */
  private final TextBoundaries[] crowds;

  /** Takes strictly ascending boundaries, without copying them. */
  TextBoundaries(UTF8String[] boundaries) {
    this.boundaries = boundaries;
    int count = boundaries.length;
    common = count == 0 ? UTF8String.EMPTY_UTF8 : common(boundaries[0].getBytes(), boundaries[count - 1].getBytes());
    long[] all = Arrays.stream(boundaries).mapToLong(text -> number(text, common.numBytes())).toArray();
    numbers = new AscendingLongs(Arrays.stream(all).distinct().toArray());
    starts = IntStream.rangeClosed(0, count).filter(i -> i == 0 || i == count || all[i] != all[i - 1]).toArray();
    crowds = new TextBoundaries[starts.length - 1];
    for (int i = 0; i < crowds.length; i++) {
      if (starts[i + 1] - starts[i] > FEW) {
        crowds[i] = new TextBoundaries(Arrays.copyOfRange(boundaries, starts[i], starts[i + 1]));
      }
    }
  }

  private static UTF8String common(byte[] first, byte[] last) {
    int length = Arrays.mismatch(first, last);
    return UTF8String.fromBytes(first, 0, length < 0 ? first.length : length);
  }

  int size() {
    return boundaries.length;
  }

  /** How many boundaries are not above a key, without allocation. */
  int countNotAbove(UTF8String key) {
    int from = common.numBytes();
    if (!key.startsWith(common)) {
      return compare(key, common, 0) < 0 ? 0 : boundaries.length;
    }
    long number = number(key, from);
    int place = numbers.countNotAbove(number);
    if (place == 0 || numbers.values()[place - 1] != number || ends(number)) {
      return starts[place];
    }
    if (crowds[place - 1] != null) {
      return starts[place - 1] + crowds[place - 1].countNotAbove(key);
    }
    int last = starts[place];
    while (last > starts[place - 1] && compare(boundaries[last - 1], key, from + BYTES) > 0) {
      last--;
    }
    return last;
  }

  /** Compares two texts that are alike before a byte. */
  private static int compare(UTF8String text, UTF8String other, int from) {
    int at = from;
    long number = number(text, at);
    while (number == number(other, at) && !ends(number)) {
      at += BYTES;
      number = number(text, at);
    }
    return Long.compare(number, number(other, at));
  }

  /** Whether a text ends with its number: only one text has it then. */
  private static boolean ends(long number) {
    return (byte) number <= BYTES;
  }

  /** What texts are compared by that are alike before a byte. */
  private static long number(UTF8String text, int from) {
    int rest = text.numBytes() - from;
    long bytes = 0;
    if (rest > BYTES) {
      long read = Platform.getLong(text.getBaseObject(), text.getBaseOffset() + from);
      bytes = (IS_LITTLE_ENDIAN ? Long.reverseBytes(read) : read) & -1L << Byte.SIZE;
    } else {
      for (int i = 0; i < rest; i++) {
        long unsigned = Platform.getByte(text.getBaseObject(), text.getBaseOffset() + from + i) & 0xFF;
        bytes |= unsigned << Byte.SIZE * (BYTES - i);
      }
    }
    // As a signed number: texts are compared by unsigned bytes.
    return (bytes | Math.min(rest, BYTES + 1)) ^ Long.MIN_VALUE;
  }
}
