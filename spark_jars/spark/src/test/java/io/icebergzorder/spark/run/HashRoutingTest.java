package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.icebergzorder.spark.sample.Sampler;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A row that carries a partition's number arrives there; a threshold lets the wanted share of hashes through. */
class HashRoutingTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 64, 1000, 4099})
  void everyPartitionIsReachedByItsNumber(int partitions) {
    int[] reached =
        Arrays.stream(HashRouting.numbers(partitions))
            .map(number -> Math.floorMod(Murmur3_x86_32.hashInt(number, 42), partitions))
            .toArray();
    assertArrayEquals(IntStream.range(0, partitions).toArray(), reached);
  }

  @Test
  void thresholdsAreSharesOfAllHashes() {
    assertEquals(Long.MIN_VALUE, Sampler.threshold(0, 10));
    assertEquals(0, Sampler.threshold(5, 10));
    assertEquals(1L << 62, Sampler.threshold(3, 4));
    BigInteger third = BigInteger.ONE.shiftLeft(64).divide(BigInteger.valueOf(3));
    assertEquals(third.add(BigInteger.valueOf(Long.MIN_VALUE)).longValueExact(), Sampler.threshold(1, 3));
  }
}
