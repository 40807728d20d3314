package io.icebergzorder.core;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * How much of a key of bytes truncated lower/upper bounds keep.
 *
 * @param length the characters of a text, or bytes of a binary
 */
public record Beginning(int length, boolean isText) {
  /** All of a key. */
  public static final Beginning WHOLE = new Beginning(Integer.MAX_VALUE, false);

  /** Cuts a key. Where a sampled key ends inside a character, that becomes U+FFFD, as in Python. */
  public byte[] of(byte[] key) {
    if (!isText) {
      return key.length <= length ? key : Arrays.copyOf(key, length);
    }
    String text = new String(key, StandardCharsets.UTF_8);
    int characters = Math.min(length, text.codePointCount(0, text.length()));
    return text.substring(0, text.offsetByCodePoints(0, characters)).getBytes(StandardCharsets.UTF_8);
  }
}
