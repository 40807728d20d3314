package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The cases of {@code tests/test_printable.py}: both languages escape the same characters. */
class PrintableTest {
  @ParameterizedTest
  @CsvSource({
    "0000,\\x00", "0009,\\x09", "000A,\\x0a", "000D,\\x0d", "001B,\\x1b", "007F,\\x7f", "0080,\\x80", "009B,\\x9b", "061C,\\u061c",
    "200E,\\u200e", "2028,\\u2028", "202E,\\u202e", "2066,\\u2066", "2069,\\u2069", "D800,\\ud800", "DFFF,\\udfff"
  })
  void whatIsObeyedIsEscaped(String code, String escaped) {
    assertEquals("a" + escaped + "b", Printable.of("a" + (char) Integer.parseInt(code, 16) + "b"));
  }

  @ParameterizedTest
  @CsvSource({"20", "7E", "A0", "DF", "200D", "2027", "202F", "2065", "206A", "1F600", "10FFFF"})
  void whatIsShownStays(String code) {
    String text = "a" + Character.toString(Integer.parseInt(code, 16)) + "\\b$1";
    assertEquals(text, Printable.of(text));
  }
}
