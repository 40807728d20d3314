package io.icebergzorder.spark.run;

import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * Turns Spark's hash partitioning into a direct one.
 *
 * <p>{@code repartition(n, column)} sends an int {@code v} to partition {@code floorMod(murmur3(v, 42), n)}, on every
 * Spark line. So a number that hashes to each partition is looked up beforehand, and a row that carries it arrives
 * there; Spark's range partitioning would read the input a second time to find what the sample has already told.
 */
public final class HashRouting {
  private static final int SPARK_SEED = 42;

  private HashRouting() {}

  public static int[] numbers(int partitions) {
    int[] numbers = new int[partitions];
    boolean[] found = new boolean[partitions];
    int missing = partitions;
    for (int candidate = 0; missing > 0; candidate++) {
      int partition = Math.floorMod(Murmur3_x86_32.hashInt(candidate, SPARK_SEED), partitions);
      if (!found[partition]) {
        found[partition] = true;
        numbers[partition] = candidate;
        missing--;
      }
    }
    return numbers;
  }
}
