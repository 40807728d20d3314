package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Counts are those of a plain binary search, however values are spread. */
class AscendingLongsTest {
  static Stream<long[]> values() {
    Random random = new Random(5);
    LongStream powers = LongStream.iterate(1, power -> power << 1).limit(63);
    LongStream dates = random.longs(1_000, 8_000, 20_000);
    return Stream.of(
            LongStream.empty(),
            LongStream.of(7),
            LongStream.of(Long.MIN_VALUE, -1, 0, Long.MAX_VALUE),
            LongStream.range(-5, 40),
            powers,
            random.longs(2_000),
            LongStream.concat(dates, LongStream.of(2_932_896)),
            LongStream.concat(random.longs(500, 0, 900), LongStream.of(Long.MIN_VALUE, Long.MAX_VALUE)))
        .map(values -> values.sorted().distinct().toArray());
  }

  @ParameterizedTest
  @MethodSource("values")
  void countsAreThoseOfABinarySearch(long[] values) {
    AscendingLongs ascending = new AscendingLongs(values);
    LongStream around = Arrays.stream(values).flatMap(value -> LongStream.of(value - 1, value, value + 1));
    LongStream.concat(around, new Random(6).longs(1_000))
        .forEach(key -> assertEquals(AscendingLongs.countNotAbove(values, key), ascending.countNotAbove(key)));
  }
}
