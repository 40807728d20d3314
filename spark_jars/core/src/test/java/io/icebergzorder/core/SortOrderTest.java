package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The laws; the texts and messages shared with Python are in {@link GoldenTest}. */
class SortOrderTest {
  @Test
  void whatItWritesComesBack() {
    SortOrder order = SortOrder.parse("p, q.r desc Nulls First, HILBERT (`a b`, c)");
    assertEquals("p ASC NULLS FIRST, q.r DESC NULLS FIRST, hilbert(`a b`, c)", order.text());
    assertEquals(order, SortOrder.parse(order.text()));
    assertEquals(List.of(List.of("p"), List.of("q", "r"), List.of("a b"), List.of("c")), order.names());
    SortOrder renamed = order.renamed(parts -> parts.size() > 1 ? List.of("q", "s t") : parts);
    assertEquals("p ASC NULLS FIRST, q.`s t` DESC NULLS FIRST, hilbert(`a b`, c)", renamed.text());
  }
}
