package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class SpelledAlikeTest {
  private static final List<String> KNOWN = List.of("ts", "user_id", "uid");

  @Test
  void theNearestNameIsNamed() {
    assertEquals(" (did you mean 'user_id'?)", SpelledAlike.hint("usr_id", KNOWN, "it has more"));
    assertEquals(" (did you mean 'user_id'?)", SpelledAlike.hint("user_idd", KNOWN, "it has more"));
    assertEquals(" (did you mean 'uid'?)", SpelledAlike.hint("uix", KNOWN, "it has more"));
  }

  @Test
  void whatIsLikeNoneGetsThemAll() {
    assertEquals(": it has more", SpelledAlike.hint("b", List.of("a"), "it has more"));
    assertEquals(": it has more", SpelledAlike.hint("region", KNOWN, "it has more"));
    assertEquals(": it has more", SpelledAlike.hint("region", List.of(), "it has more"));
  }
}
