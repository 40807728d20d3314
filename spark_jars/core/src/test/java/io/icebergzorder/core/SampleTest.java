package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class SampleTest {
  /** The example of Python's {@code Sample.evenly}. */
  @Test
  void rowsAreTakenEvenlyInTheOrderOfTheirKeys() {
    Sample sample = Sample.together(List.of(sample(new String[] {"b", "a"}, 1, 7), sample(new String[] {null, "ab", "a"}, 3, 4, -5)));
    assertSame(sample, sample.evenly(5));
    assertArrayEquals(new long[] {-5, 7, 4, 1}, numbers(sample.evenly(4)));
    assertArrayEquals(new long[] {-5, 4}, numbers(sample.evenly(2)));
  }

  private static Sample sample(String[] texts, long... numbers) {
    byte[][] keys =
        Stream.of(texts).map(text -> text == null ? null : text.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
    byte[] states = new byte[texts.length];
    for (int row = 0; row < states.length; row++) {
      states[row] = texts[row] == null ? KeyColumn.NULL : KeyColumn.VALUE;
    }
    return new Sample(List.of(KeyColumn.ofBytes(keys, states), KeyColumn.ofLongs(numbers, new byte[numbers.length])));
  }

  private static long[] numbers(Sample sample) {
    return IntStream.range(0, sample.rows()).mapToLong(row -> sample.columns().get(1).longKey(row)).toArray();
  }
}
