package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class AscendingLongsTest {
  static Stream<long[]> values() {
    Random random = new Random(7);
    return Stream.of(
        new long[] {},
        new long[] {5},
        new long[] {3, 3, 3},
        new long[] {Long.MIN_VALUE, Long.MAX_VALUE},
        new long[] {Long.MIN_VALUE, -1, 0, 1, Long.MAX_VALUE},
        new long[] {Long.MAX_VALUE - 1, Long.MAX_VALUE},
        LongStream.range(-50, 50).toArray(),
        random.longs(1000).sorted().toArray(),
        random.longs(1000, -700, 700).sorted().toArray(),
        // all but one in one slot
        LongStream.concat(LongStream.range(0, 500), LongStream.of(Long.MAX_VALUE)).toArray(),
        random.doubles(500).mapToLong(Keys::ofDouble).sorted().toArray());
  }

  @ParameterizedTest
  @MethodSource("values")
  void countsWhatIsNotAbove(long[] values) {
    AscendingLongs ascending = new AscendingLongs(values);
    LongStream random = new Random(8).longs(200);
    LongStream near = Arrays.stream(values).flatMap(value -> LongStream.of(value - 1, value, value + 1));
    LongStream edges = LongStream.of(Long.MIN_VALUE, 0, Long.MAX_VALUE);
    LongStream.concat(LongStream.concat(random, near), edges)
        .forEach(
            key -> {
              long expected = Arrays.stream(values).filter(value -> value <= key).count();
              assertEquals(expected, ascending.countNotAbove(key), () -> "of " + key);
              assertEquals(expected, AscendingLongs.countNotAbove(values, key), () -> "of " + key);
            });
  }
}
