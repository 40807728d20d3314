package io.icebergzorder.spark.layout;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

class JoinedFileTest {
  private static final Types.NestedField COLUMN = Types.NestedField.optional(1, "a", Types.LongType.get());
  private static final Types.NestedField TEXT = Types.NestedField.optional(2, "s", Types.StringType.get());

  @Test
  void aFileOfNothingButNullLeavesTheBoundsOfTheOthers() {
    JoinedFile joined = new JoinedFile(List.of(COLUMN));
    joined.add(file(10, 0, Map.of(1, bound(3)), Map.of(1, bound(7))));
    joined.add(file(5, 5, Map.of(), Map.of()));
    joined.add(file(10, 1, Map.of(1, bound(5)), Map.of(1, bound(9))));
    DataFile file = joined.file();
    assertEquals(Map.of(1, 6L), file.nullValueCounts());
    assertEquals(Map.of(1, bound(3)), file.lowerBounds());
    assertEquals(Map.of(1, bound(9)), file.upperBounds());
  }

  @Test
  void aFileWithoutBoundsMayHoldAnything() {
    JoinedFile joined = new JoinedFile(List.of(COLUMN));
    joined.add(file(10, 0, Map.of(1, bound(3)), Map.of(1, bound(7))));
    joined.add(file(5, 4, Map.of(), Map.of()));
    assertEquals(Map.of(), joined.file().lowerBounds());
    assertEquals(Map.of(), joined.file().upperBounds());
  }

  @Test
  void bytesThatAreNoValueAreNoBound() {
    JoinedFile joined = new JoinedFile(List.of(COLUMN, TEXT));
    ByteBuffer ofNoLong = ByteBuffer.wrap(new byte[] {1, 2, 3});
    ByteBuffer ofNoText = ByteBuffer.wrap(new byte[] {'M', (byte) 0xc0, 'A'});
    joined.add(file(10, 0, Map.of(1, bound(3), 2, ofNoText), Map.of(1, ofNoLong, 2, ofNoText)));
    assertEquals(Map.of(1, bound(3)), joined.file().lowerBounds());
    assertEquals(Map.of(), joined.file().upperBounds());
  }

  private static ByteBuffer bound(long value) {
    return Conversions.toByteBuffer(Types.LongType.get(), value);
  }

  private static DataFile file(long rows, long nulls, Map<Integer, ByteBuffer> lower, Map<Integer, ByteBuffer> upper) {
    return JoinedFile.described(1, rows, Map.of(1, rows), Map.of(1, nulls), lower, upper);
  }
}
