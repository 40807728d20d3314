package io.icebergzorder.core;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The beginning of a key of bytes, which truncated lower/upper bounds keep. */
public final class Beginning {
  private Beginning() {}

  /** So many characters of a text, or bytes of a binary. Where a sampled key ends inside a character, that becomes U+FFFD, as in Python. */
  public static byte[] of(byte[] key, int length, boolean isText) {
    if (key.length <= length && !isText) {
      return key;
    }
    if (!isText) {
      return Arrays.copyOf(key, length);
    }
    String text = new String(key, StandardCharsets.UTF_8);
    int characters = Math.min(length, text.codePointCount(0, text.length()));
    return text.substring(0, text.offsetByCodePoints(0, characters)).getBytes(StandardCharsets.UTF_8);
  }
}
