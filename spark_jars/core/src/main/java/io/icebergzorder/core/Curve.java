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
}
