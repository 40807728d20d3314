package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Counts are those of comparisons in full, whatever texts begin with and wherever they end. */
class TextBoundariesTest {
  private static final Random RANDOM = new Random(5);

  static Stream<List<byte[]>> boundaries() {
    return Stream.of(
        List.of(),
        List.of(new byte[0]),
        List.of("a".getBytes()),
        ofBytes(300, 3),
        ofBytes(300, 30),
        // Zeros at the end are part of a value, but fill numbers up, too.
        IntStream.range(0, 40).map(i -> 7 * i % 40).mapToObj(byte[]::new).toList(),
        texts("https://example.com/shop/item-", 200),
        Stream.of("http://", "https://www.a.com/", "https://www.b.com/").flatMap(host -> texts(host, 50).stream()).toList());
  }

  @ParameterizedTest
  @MethodSource("boundaries")
  void countsAreThoseOfComparisons(List<byte[]> values) {
    TreeSet<byte[]> half = new TreeSet<>(Arrays::compareUnsigned);
    IntStream.range(0, values.size()).filter(i -> i % 2 == 0).forEach(i -> half.add(values.get(i)));
    TextBoundaries boundaries = new TextBoundaries(half.stream().map(UTF8String::fromBytes).toArray(UTF8String[]::new));
    Stream<byte[]> cut = values.stream().flatMap(each -> Stream.of(0, 1, 7, 8, 20).map(length -> Arrays.copyOf(each, length)));
    Stream.concat(Stream.concat(values.stream(), cut), ofBytes(200, 10).stream()).forEach(key ->
        assertEquals(half.headSet(key, true).size(), boundaries.countNotAbove(UTF8String.fromBytes(key)), () -> Arrays.toString(key)));
  }

  /** Few different bytes, some of them negative, so that many arrays begin alike. */
  private static List<byte[]> ofBytes(int count, int length) {
    byte[] alphabet = {0, 1, (byte) 200, (byte) 255};
    return Stream.generate(() -> {
      byte[] bytes = new byte[RANDOM.nextInt(length + 1)];
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] = alphabet[RANDOM.nextInt(alphabet.length)];
      }
      return bytes;
    }).limit(count).toList();
  }

  private static List<byte[]> texts(String beginning, int count) {
    return IntStream.range(0, count).mapToObj(i -> (beginning + RANDOM.nextInt(1_000_000)).getBytes()).toList();
  }
}
