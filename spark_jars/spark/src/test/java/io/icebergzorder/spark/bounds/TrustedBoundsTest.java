package io.icebergzorder.spark.bounds;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TrustedBoundsTest {
  private static final int ID = 3;

  private static Types.NestedField field(Type type) {
    return Types.NestedField.optional(ID, "c", type);
  }

  private static DataFile file(ByteBuffer lower, ByteBuffer upper) {
    return file(lower, upper, List.of(4L));
  }

  private static DataFile file(ByteBuffer lower, ByteBuffer upper, List<Long> splitOffsets) {
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath("file:///a.parquet")
        .withFileSizeInBytes(10)
        .withSplitOffsets(splitOffsets)
        .withMetrics(new Metrics(5L, Map.of(), Map.of(), Map.of(), Map.of(), bounds(lower), bounds(upper)))
        .build();
  }

  private static Map<Integer, ByteBuffer> bounds(ByteBuffer bound) {
    return bound == null ? null : Map.of(ID, bound);
  }

  private static TrustedBounds of(Type type, Object lower, Object upper) {
    return TrustedBounds.from(file(Conversions.toByteBuffer(type, lower), Conversions.toByteBuffer(type, upper)), field(type));
  }

  private static TrustedBounds ofText(byte[] lower, byte[] upper) {
    return TrustedBounds.from(file(ByteBuffer.wrap(lower), ByteBuffer.wrap(upper)), field(Types.StringType.get()));
  }

  @Test
  void servesAClosedListOfTypes() {
    Set<TypeID> served =
        Arrays.stream(
                new Type[] {
                  Types.BooleanType.get(), Types.IntegerType.get(), Types.LongType.get(), Types.FloatType.get(), Types.DoubleType.get(),
                  Types.DateType.get(), Types.TimeType.get(), Types.TimestampType.withZone(), Types.TimestampType.withoutZone(),
                  Types.TimestampNanoType.withZone(), Types.StringType.get(), Types.UUIDType.get(), Types.FixedType.ofLength(2),
                  Types.BinaryType.get(), Types.DecimalType.of(9, 2), Types.UnknownType.get(), Types.VariantType.get(),
                  Types.ListType.ofOptional(1, Types.LongType.get()), Types.StructType.of(field(Types.LongType.get()))
                })
            .filter(type -> TrustedBounds.serves(field(type)))
            .map(Type::typeId)
            .collect(Collectors.toSet());
    assertEquals(
        EnumSet.of(TypeID.INTEGER, TypeID.LONG, TypeID.DATE, TypeID.TIMESTAMP, TypeID.DECIMAL, TypeID.STRING), EnumSet.copyOf(served));
  }

  @Test
  void servesNoMetadataColumn() {
    for (Types.NestedField each : List.of(MetadataColumns.ROW_ID, MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER, MetadataColumns.ROW_POSITION)) {
      assertFalse(TrustedBounds.serves(each));
    }
  }

  @Test
  void areInTheFormOfKeys() {
    assertEquals(new TrustedBounds(key(Types.IntegerType.get(), -2), key(Types.IntegerType.get(), 7)), of(Types.IntegerType.get(), -2, 7));
    assertEquals(new TrustedBounds(key(Types.DateType.get(), -2), key(Types.DateType.get(), 7)), of(Types.DateType.get(), -2, 7));
    assertEquals(new TrustedBounds(key(Types.LongType.get(), -2L), key(Types.LongType.get(), 7L)), of(Types.LongType.get(), -2L, 7L));
    Type decimal = Types.DecimalType.of(20, 3);
    Decimal two = Decimal.apply(new BigDecimal("-2.5"), 20, 3);
    assertEquals(
        new TrustedBounds(key(decimal, two), key(decimal, Decimal.apply(7))), of(decimal, new BigDecimal("-2.500"), new BigDecimal("7.000")));
    Type text = Types.StringType.get();
    assertEquals(new TrustedBounds(key(text, UTF8String.fromString("a")), key(text, UTF8String.fromString("é"))), of(text, "a", "é"));
  }

  private static Comparable<Object> key(Type type, Object key) {
    return TrustedBounds.key(type, key);
  }

  @Test
  void areNotTrustedForTextInSeveralRowGroups() {
    List<Long> two = List.of(4L, 6L);
    ByteBuffer text = Conversions.toByteBuffer(Types.StringType.get(), "a");
    assertNull(TrustedBounds.from(file(text, text, two), field(Types.StringType.get())));
    ByteBuffer number = Conversions.toByteBuffer(Types.LongType.get(), 7L);
    assertNotNull(TrustedBounds.from(file(number, number, two), field(Types.LongType.get())));
  }

  @Test
  void longsMayHaveBoundsOfIntegers() {
    TrustedBounds promoted =
        TrustedBounds.from(
            file(Conversions.toByteBuffer(Types.IntegerType.get(), -2), Conversions.toByteBuffer(Types.IntegerType.get(), 7)),
            field(Types.LongType.get()));
    assertEquals(of(Types.LongType.get(), -2L, 7L), promoted);
  }

  @Test
  void areNotTrustedIfOneIsMissingOrTheyAreInverted() {
    ByteBuffer seven = Conversions.toByteBuffer(Types.LongType.get(), 7L);
    assertNull(TrustedBounds.from(file(null, seven), field(Types.LongType.get())));
    assertNull(TrustedBounds.from(file(seven, null), field(Types.LongType.get())));
    assertNull(TrustedBounds.from(file(seven, ByteBuffer.allocate(0)), field(Types.LongType.get())));
    assertNull(of(Types.LongType.get(), 8L, 7L));
    assertNull(of(Types.DecimalType.of(9, 0), BigDecimal.valueOf(8), BigDecimal.valueOf(7)));
    assertNull(ofText("b".getBytes(StandardCharsets.UTF_8), "a".getBytes(StandardCharsets.UTF_8)));
    assertNull(ofText(new byte[0], new byte[0]));
    assertNotNull(ofText(new byte[0], "a".getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void areNotTrustedOfImportedFiles() {
    ByteBuffer seven = Conversions.toByteBuffer(Types.LongType.get(), 7L);
    assertNotNull(TrustedBounds.from(file(seven, seven, List.of(4L, 8L)), field(Types.LongType.get())));
    assertNull(TrustedBounds.from(file(seven, seven, null), field(Types.LongType.get())));
  }

  @ParameterizedTest
  @CsvSource({"INTEGER, 8", "INTEGER, 3", "DATE, 8", "LONG, 5", "TIMESTAMP, 4", "TIMESTAMP, 9", "DECIMAL, 0"})
  void areNotTrustedInAnotherLength(TypeID id, int length) {
    Type type =
        switch (id) {
          case INTEGER -> Types.IntegerType.get();
          case DATE -> Types.DateType.get();
          case LONG -> Types.LongType.get();
          case TIMESTAMP -> Types.TimestampType.withZone();
          default -> Types.DecimalType.of(9, 2);
        };
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) 3);
    assertNull(TrustedBounds.from(file(ByteBuffer.wrap(bytes), ByteBuffer.wrap(bytes)), field(type)));
  }

  @ParameterizedTest
  @CsvSource({"4D, EFBFBD41", "EFBFBD, F09F9880", "C0, C3A9", "4D, 4DC041", "4D, EDA080", "4D, F0", "4D, 4DEFBFBE"})
  void areNotTrustedIfTextIsNotUtf8OrWasReplaced(String lower, String upper) {
    assertNull(ofText(HexFormat.of().parseHex(lower), HexFormat.of().parseHex(upper)));
  }

  @Test
  void areNotTrustedIfTheyMayBeMillisecondsThatSeemToBeMicroseconds() {
    Type type = Types.TimestampType.withoutZone();
    long micros = 1_700_000_000_000_000L;
    assertNotNull(of(type, micros, micros + 5));
    assertNull(of(type, micros / 1000, micros / 1000 + 5));
    assertNull(of(type, -5L, micros));
    assertNull(of(type, -micros, 5L));
    assertNotNull(of(type, -micros, micros));
  }

  @Test
  void textIsOrderedByUnsignedBytes() {
    byte[] bytes = ((UTF8String) (Object) ofTextBounds("z", "é").upper()).getBytes();
    assertArrayEquals("é".getBytes(StandardCharsets.UTF_8), bytes);
    assertNull(ofTextBounds("é", "z"));
    assertNotNull(ofTextBounds("\uFFFC", "😀")); // in UTF-16 the other way round
  }

  private static TrustedBounds ofTextBounds(String lower, String upper) {
    return ofText(lower.getBytes(StandardCharsets.UTF_8), upper.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void keysOfDecimalsAreUnscaled() {
    assertEquals(
        BigInteger.valueOf(2500), (Object) TrustedBounds.key(Types.DecimalType.of(9, 3), Decimal.apply(new BigDecimal("2.5"), 9, 1)));
  }
}
