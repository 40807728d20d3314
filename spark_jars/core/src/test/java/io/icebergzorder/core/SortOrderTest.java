package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The laws; the texts and messages shared with Python are in {@link GoldenTest}. */
class SortOrderTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "zorder(a, b.`c d`)", "a,b.`c d`", " ZOrder ( a , b . `c d` ) ", "\ta\n, b\r\n.`c d`"
      })
  void oneMeaningManySpellings(String text) {
    SortOrder expected = new SortOrder(Curve.ZORDER, List.of(List.of("a"), List.of("b", "c d")), List.of());
    assertEquals(expected, SortOrder.parse(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", " ", "zorder()", "zorder(a", "zorder(a,)", "a,", ",a", "a b", "a.", ".a", "`a", "a)", "a-b", "``",
        "zorder(a), b", "b, zorder(a), c", "other(a)", "a ASC", "a desc", "zorder(a desc)",
        "a NULLS FIRST", "zorder(a) b", "zorder(zorder(a))"
      })
  void otherTextsAreRefused(String text) {
    Exception e = assertThrows(IllegalArgumentException.class, () -> SortOrder.parse(text));
    assertTrue(
        e.getMessage().startsWith("Cannot parse sort_order '" + text + "', because "), e.getMessage());
  }

  @Test
  void aPrefixBeforeACurve() {
    SortOrder order = SortOrder.parse("p, q.r desc Nulls First, HILBERT (a)");
    assertEquals(Curve.HILBERT, order.curve());
    assertEquals(
        List.of(
            new PrefixColumn(List.of("p"), new PrefixOrder(false, true)),
            new PrefixColumn(List.of("q", "r"), new PrefixOrder(true, true))),
        order.prefix());
  }

  @Test
  void whatItWritesComesBack() {
    SortOrder order = SortOrder.parse("p, q.r desc Nulls First, HILBERT (`a b`, c)");
    assertEquals("p ASC NULLS FIRST, q.r DESC NULLS FIRST, hilbert(`a b`, c)", order.text());
    assertEquals(order, SortOrder.parse(order.text()));
    assertEquals(List.of(List.of("p"), List.of("q", "r"), List.of("a b"), List.of("c")), order.names());
    SortOrder renamed = order.renamed(parts -> parts.size() > 1 ? List.of("q", "s t") : parts);
    assertEquals("p ASC NULLS FIRST, q.`s t` DESC NULLS FIRST, hilbert(`a b`, c)", renamed.text());
  }

  @Test
  void namesOfClusteringColumnsComeBack() {
    for (List<String> parts :
        List.of(
            List.of("zorder"),
            List.of("asc", "nulls"),
            List.of("a b", "x`y", "1", "é", "😀", "a.b", "(,)"))) {
      assertEquals(parts, SortOrder.parse(new ClusteringColumn(parts, "int").name()).columns().get(0));
    }
  }
}
