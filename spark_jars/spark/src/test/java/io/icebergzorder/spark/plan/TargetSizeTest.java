package io.icebergzorder.spark.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class TargetSizeTest {
  private static final long MIB = 1L << 20;

  @Test
  void itHasBounds() {
    assertEquals(16 * MIB, TargetSize.ofData(new long[] {5, 7}));
    assertEquals(512 * MIB, TargetSize.ofData(new long[] {Long.MAX_VALUE / 4}));
    assertEquals(512 * MIB, TargetSize.ofData(new long[0]), "Iceberg's default where there is nothing to go by");
    assertEquals(64 * MIB, TargetSize.ofData(new long[] {MIB, 2048 * MIB, MIB}), "small ones hold no half of the bytes");
  }
}
