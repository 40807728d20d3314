package io.icebergzorder.spark.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.icebergzorder.spark.internals.PhysicalTypes.Reading;
import java.util.Locale;
import org.apache.iceberg.shaded.org.apache.parquet.schema.MessageTypeParser;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What files of other writers were found to be read as, by Spark 4.1 and Iceberg 1.12, by dictionary and plain, as vectors and rows. */
class PhysicalTypesTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          boolean        | boolean v                                   | ANY
          boolean        | int32 v                                     | NONE
          int            | int32 v                                     | ANY
          int            | int32 v (INT_8)                             | ANY
          int            | int32 v (UINT_16)                           | NONE
          int            | int32 v (UINT_32)                           | NONE
          int            | int64 v                                     | NONE
          int            | int32 v (DATE)                              | NONE
          int            | int32 v (TIME_MILLIS)                       | NONE
          long           | int32 v                                     | ANY
          long           | int64 v                                     | ANY
          long           | int64 v (INTEGER(64,true))                  | ANY
          long           | int32 v (UINT_8)                            | NONE
          long           | int32 v (UINT_32)                           | NONE
          long           | int64 v (UINT_64)                           | NONE
          long           | int64 v (TIME_MICROS)                       | NONE
          long           | int64 v (TIMESTAMP_MICROS)                  | NONE
          long           | boolean v                                   | NONE
          float          | float v                                     | ANY
          float          | fixed_len_byte_array(2) v                   | NONE
          float          | double v                                    | NONE
          double         | float v                                     | ANY
          double         | double v                                    | ANY
          double         | fixed_len_byte_array(2) v                   | NONE
          double         | int32 v                                     | NONE
          date           | int32 v (DATE)                              | ANY
          date           | int32 v                                     | ANY
          date           | int64 v (TIMESTAMP_MILLIS)                  | NONE
          timestamp      | int64 v (TIMESTAMP(MICROS,false))           | ANY
          timestamp      | int64 v (TIMESTAMP(MICROS,true))            | ANY
          timestamp      | int64 v (TIMESTAMP(MILLIS,false))           | ROWS
          timestamptz    | int64 v (TIMESTAMP_MILLIS)                  | ROWS
          timestamp      | int64 v (TIMESTAMP(NANOS,false))            | NONE
          timestamptz    | int64 v (TIMESTAMP(NANOS,true))             | NONE
          timestamptz    | int96 v                                     | ANY
          timestamp      | int64 v                                     | ROWS
          timestamp      | int32 v (DATE)                              | NONE
          decimal(9, 2)  | int32 v (DECIMAL(9,2))                      | ANY
          decimal(9, 2)  | int32 v (DECIMAL(5,2))                      | ANY
          decimal(9, 2)  | int32 v (DECIMAL(9,1))                      | NONE
          decimal(9, 2)  | fixed_len_byte_array(4) v (DECIMAL(9,3))    | NONE
          decimal(9, 2)  | int64 v (DECIMAL(18,2))                     | NONE
          decimal(9, 2)  | int32 v                                     | NONE
          decimal(9, 2)  | double v                                    | NONE
          decimal(38, 2) | fixed_len_byte_array(13) v (DECIMAL(30,2))  | ANY
          decimal(38, 2) | binary v (DECIMAL(30,2))                    | ROWS
          string         | binary v (STRING)                           | ANY
          string         | binary v (JSON)                             | ANY
          string         | binary v (ENUM)                             | ANY
          string         | binary v                                    | NONE
          string         | int32 v (UNKNOWN)                           | ROWS
          string         | fixed_len_byte_array(8) v                   | NONE
          binary         | binary v                                    | ANY
          binary         | fixed_len_byte_array(8) v                   | ROWS
          binary         | fixed_len_byte_array(4) v (DECIMAL(9,2))    | NONE
          uuid           | fixed_len_byte_array(16) v                  | ANY
          uuid           | binary v (STRING)                           | NONE
          fixed[8]       | fixed_len_byte_array(8) v                   | ANY
          fixed[8]       | fixed_len_byte_array(6) v                   | NONE
          fixed[8]       | binary v                                    | NONE
          """)
  void itIsKnownHowColumnsHaveToBeRead(String type, String column, Reading expected) {
    var parquet = MessageTypeParser.parseMessageType("message m { optional " + column + "; }");
    assertEquals(
        expected,
        PhysicalTypes.of(Types.fromPrimitiveString(type.toLowerCase(Locale.ROOT)), parquet.getType(0).asPrimitiveType()));
  }
}
