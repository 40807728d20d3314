package io.icebergzorder.spark.sample;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigInteger;
import org.junit.jupiter.api.Test;

/** A threshold lets the wanted share of hashes through. */
class DrawingTest {
  @Test
  void thresholdsAreSharesOfAllHashes() {
    assertEquals(Long.MIN_VALUE, Drawing.threshold(0, 10));
    assertEquals(0, Drawing.threshold(5, 10));
    assertEquals(1L << 62, Drawing.threshold(3, 4));
    BigInteger third = BigInteger.ONE.shiftLeft(64).divide(BigInteger.valueOf(3));
    assertEquals(third.add(BigInteger.valueOf(Long.MIN_VALUE)).longValueExact(), Drawing.threshold(1, 3));
  }
}
