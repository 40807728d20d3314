package io.icebergzorder.core;

import java.util.Arrays;

/** What lower/upper bounds keep of a key of bytes, where they keep no more than its beginning. */
public final class Beginning {
  private static final byte[] REPLACEMENT = {(byte) 0xEF, (byte) 0xBF, (byte) 0xBD};
  private static final int TWO_BYTES = 0xC2;
  private static final int THREE_BYTES = 0xE0;
  private static final int FOUR_BYTES = 0xF0;
  private static final int LAST_LEAD = 0xF4;
  private static final int BEFORE_SURROGATES = 0xED;

  private Beginning() {}

  /** The first characters of a text, or bytes of a binary. */
  public static byte[] of(byte[] key, int length, boolean isText) {
    if (!isText) {
      return key.length <= length ? key : Arrays.copyOf(key, length);
    }
    byte[] found = new byte[key.length];
    int filled = 0;
    int from = 0;
    for (int characters = 0; characters < length && from < key.length; characters++) {
      int needed = bytesOf(key[from]);
      int present = present(key, from, needed);
      if (present == needed) {
        System.arraycopy(key, from, found, filled, needed);
        filled += needed;
      } else {
        found = Arrays.copyOf(found, Math.max(found.length, filled + REPLACEMENT.length + key.length - from));
        System.arraycopy(REPLACEMENT, 0, found, filled, REPLACEMENT.length);
        filled += REPLACEMENT.length;
      }
      from += present;
    }
    return Arrays.copyOf(found, filled);
  }

  /** How many bytes a character has by its first one; more than there can be, if no character begins so. */
  private static int bytesOf(byte lead) {
    int value = Byte.toUnsignedInt(lead);
    if (value <= Byte.MAX_VALUE) {
      return 1;
    }
    if (value < TWO_BYTES || value > LAST_LEAD) {
      return Integer.MAX_VALUE;
    }
    return value < THREE_BYTES ? 2 : value < FOUR_BYTES ? 3 : 4;
  }

  /** How many of these bytes are there, 1 at least. */
  private static int present(byte[] key, int from, int needed) {
    int lead = Byte.toUnsignedInt(key[from]);
    int present = 1;
    while (needed <= 4 && present < needed && from + present < key.length) {
      int next = Byte.toUnsignedInt(key[from + present]);
      // After some first bytes, a second one would make what a shorter sequence does, a surrogate, or no character at all.
      int least = present > 1 ? 0x80 : lead == THREE_BYTES ? 0xA0 : lead == FOUR_BYTES ? 0x90 : 0x80;
      int most = present > 1 ? 0xBF : lead == BEFORE_SURROGATES ? 0x9F : lead == LAST_LEAD ? 0x8F : 0xBF;
      if (next < least || next > most) {
        break;
      }
      present++;
    }
    return present;
  }
}
