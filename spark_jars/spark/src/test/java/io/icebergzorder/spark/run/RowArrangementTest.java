package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A row that carries a partition's number arrives there. */
class RowArrangementTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 64, 1000, 4099})
  void everyPartitionIsReachedByItsNumber(int partitions) {
    int[] reached =
        Arrays.stream(RowArrangement.hashedTo(partitions))
            .map(number -> Math.floorMod(Murmur3_x86_32.hashInt(number, 42), partitions))
            .toArray();
    assertArrayEquals(IntStream.range(0, partitions).toArray(), reached);
  }
}
