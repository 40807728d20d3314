package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HexFormat;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is kept of keys, as Python's {@code beginning} has it. */
class BeginningTest {
  private static final HexFormat HEX = HexFormat.of();

  @ParameterizedTest
  @CsvSource({
    "6772c3b6c39f65, 3, 6772c3b6",
    "6772, 3, 6772",
    "'', 3, ''",
    "f09f9880f09f9880, 1, f09f9880",
    // What is no character is one for each longest part that a character begins with.
    "61e4bd, 9, 61efbfbd",
    "61e4bd, 1, 61",
    "e4bd41, 2, efbfbd41",
    "f09f98, 9, efbfbd",
    "80bf, 9, efbfbdefbfbd",
    "c080, 1, efbfbd",
    "f5808080, 3, efbfbdefbfbdefbfbd",
    "f4908080, 9, efbfbdefbfbdefbfbdefbfbd",
    "e08080, 9, efbfbdefbfbdefbfbd",
    "f0808080, 9, efbfbdefbfbdefbfbdefbfbd",
  })
  void ofText(String key, int length, String kept) {
    assertEquals(kept, HEX.formatHex(new Beginning(length, true).of(HEX.parseHex(key))));
  }

  @ParameterizedTest
  @CsvSource({"ff00e4bd, 3, ff00e4", "ff, 3, ff"})
  void ofBytes(String key, int length, String kept) {
    assertEquals(kept, HEX.formatHex(new Beginning(length, false).of(HEX.parseHex(key))));
  }
}
