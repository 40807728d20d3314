package io.icebergzorder.spark.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TargetSizeTest {
  private static final long MIB = 1L << 20;

  /** The smallest size such that partitions of at most that size hold at least half of all bytes. */
  private static long naive(long[] partitions) {
    long all = Arrays.stream(partitions).sum();
    long typical =
        Arrays.stream(partitions)
            .filter(size -> 2 * Arrays.stream(partitions).filter(other -> other <= size).sum() >= all)
            .min()
            .orElseThrow();
    return Math.max(16 * MIB, Math.min(512 * MIB, typical / 32));
  }

  @Test
  void itIsAShareOfTheTypicalPartition() {
    Random random = new Random(1);
    for (int round = 0; round < 200; round++) {
      long[] partitions = random.longs(1 + random.nextInt(20), 1, 40_000 * MIB).toArray();
      assertEquals(naive(partitions), TargetSize.ofData(partitions));
    }
  }

  @Test
  void itHasBounds() {
    assertEquals(16 * MIB, TargetSize.ofData(new long[] {5, 7}));
    assertEquals(512 * MIB, TargetSize.ofData(new long[] {Long.MAX_VALUE / 4}));
    assertEquals(512 * MIB, TargetSize.ofData(new long[0]), "Iceberg's default where there is nothing to go by");
    assertEquals(64 * MIB, TargetSize.ofData(new long[] {MIB, 2048 * MIB, MIB}), "small ones hold no half of the bytes");
  }
}
