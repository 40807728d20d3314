package io.icebergzorder.core;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Escapes control characters, direction overrides and line separators, which names and values of tables may hold.
 */
public final class Printable {
  private static final Pattern OBEYED =
      Pattern.compile("[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]");
  private static final int BYTE = 0xff;

  private Printable() {}

  /** Escapes control characters, including line ends. */
  public static String of(String text) {
    return OBEYED.matcher(text).replaceAll(found -> Matcher.quoteReplacement(escaped(found.group().charAt(0))));
  }

  private static String escaped(char character) {
    return String.format(Locale.ROOT, character <= BYTE ? "\\x%02x" : "\\u%04x", (int) character);
  }
}
