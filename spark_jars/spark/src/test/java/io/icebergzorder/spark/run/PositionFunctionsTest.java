package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PositionFunctionsTest {
  @ParameterizedTest
  @CsvSource({"B, 0", "b, 1", "ö, 2", "語, 3", "😁, 4"})
  void textsAreSearchedByTheirBytesWithoutASign(String text, long position) {
    UTF8String[] boundaries = Stream.of("a", "é", "日", "😀").map(UTF8String::fromString).toArray(UTF8String[]::new);
    long[] beginnings = Stream.of(boundaries).mapToLong(UTF8String::getPrefix).toArray();
    PositionFunctions.Texts texts = new PositionFunctions.Texts(boundaries, beginnings, new long[] {0, 1, 2, 3, 4, 5, 6});
    assertEquals(position, texts.of(UTF8String.fromString(text)));
  }
}
