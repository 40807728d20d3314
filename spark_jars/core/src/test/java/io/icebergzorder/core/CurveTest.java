package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Positions and the index made of them. */
class CurveTest {
  private static long index(int[] positions, int bits) {
    long index = 0;
    for (int column = 0; column < positions.length; column++) {
      index |= new ZOrderCurve(positions.length).share(positions[column], column);
    }
    return index;
  }

  @Test
  void theExampleOfTheDocumentation() {
    assertEquals(45, index(new int[] {0b110, 0b011}, 3));
  }

  @ParameterizedTest
  @CsvSource({"1,1", "1,8", "2,1", "2,5", "3,1", "3,4", "4,3", "5,2", "12,1"})
  void isABijection(int columns, int bits) {
    int count = 1 << columns * bits;
    BitSet seen = new BitSet(count);
    for (int point = 0; point < count; point++) {
      int[] positions = point(point, columns, bits);
      long index = index(positions, bits);
      assertTrue(index >= 0 && index < count);
      assertEquals(Naive.index(positions, bits), index);
      seen.set((int) index);
    }
    assertEquals(count, seen.cardinality());
  }

  @ParameterizedTest
  @CsvSource({"1,8", "2,5", "3,4", "4,3", "5,2"})
  void growsWithEachPosition(int columns, int bits) {
    for (int point = 0; point < 1 << columns * bits; point++) {
      int[] positions = point(point, columns, bits);
      long index = index(positions, bits);
      for (int column = 0; column < columns; column++) {
        if (positions[column] + 1 < 1 << bits) {
          positions[column]++;
          assertTrue(index(positions, bits) > index);
          positions[column]--;
        }
      }
    }
  }

  private static int[] point(int point, int columns, int bits) {
    return IntStream.range(0, columns).map(c -> point >> c * bits & (1 << bits) - 1).toArray();
  }

  @Test
  void agreesWithTheDefinitionForAnyNumberOfColumns() {
    RandomKeys random = new RandomKeys(4);
    for (int columns = 1; columns <= 63; columns++) {
      int bits = Layout.bitsFor(columns);
      int most = (1 << bits) - 1;
      int[] positions = IntStream.range(0, columns).map(c -> random.between(0, most)).toArray();
      assertEquals(Naive.index(positions, bits), index(positions, bits));
    }
  }

  @Test
  void theLargestIndexIsALong() {
    int[] ones = new int[63];
    Arrays.fill(ones, 1);
    assertEquals(Long.MAX_VALUE, index(ones, 1));
    assertEquals((1L << 48) - 1, index(new int[] {65535, 65535, 65535}, 16));
    assertEquals(0, index(new int[0], 0));
  }

  @Test
  void bitsOfAnIndex() {
    int[] columns = {0, 1, 3, 4, 5, 8, 31, 32, 63};
    int[] bits = {0, 16, 16, 15, 12, 7, 2, 1, 1};
    assertArrayEquals(bits, IntStream.of(columns).map(Layout::bitsFor).toArray());
  }

  @Test
  void positionsAreSharesOfTheRowsBelow() {
    KeyColumn column =
        KeyColumn.ofLongs(new long[] {5, 5, 7, 0, 0, 9, 5, 5}, new byte[] {0, 0, 0, 1, 2, 0, 0, 0});
    Boundaries boundaries = Boundaries.of(column, 10);
    // 4 x 5, 7, 9, NaN, NULL of 8 rows
    assertArrayEquals(new int[] {0, 8, 10, 12, 14}, boundaries.positions(column, 4, PrefixOrder.OF_KEYS));
    assertArrayEquals(new int[] {0, 1, 1, 1, 1}, boundaries.positions(column, 1, PrefixOrder.OF_KEYS));
  }

  @Test
  void positionsFollowTheOrderOfThePrefix() {
    KeyColumn column =
        KeyColumn.ofLongs(new long[] {5, 5, 7, 0, 0, 9, 5, 5}, new byte[] {0, 0, 0, 1, 2, 0, 0, 0});
    Boundaries boundaries = Boundaries.of(column, 10);
    assertArrayEquals(
        new int[] {2, 10, 12, 14, 0}, boundaries.positions(column, 4, new PrefixOrder(false, true)));
    assertArrayEquals(
        new int[] {6, 4, 2, 0, 14}, boundaries.positions(column, 4, new PrefixOrder(true, false)));
    assertArrayEquals(
        new int[] {8, 6, 4, 2, 0}, boundaries.positions(column, 4, new PrefixOrder(true, true)));
  }

  @Test
  void aBucketAfterAllRowsHasTheLastPosition() {
    KeyColumn column = KeyColumn.ofLongs(new long[] {1, 2}, new byte[2]);
    Boundaries boundaries = Boundaries.of(column, 10);
    assertArrayEquals(
        new int[] {0, 32768, 65535, 65535}, boundaries.positions(column, 16, PrefixOrder.OF_KEYS));
  }

  @ParameterizedTest
  @EnumSource(KeyDomain.class)
  void positionsAgreeWithTheDefinition(KeyDomain domain) {
    RandomKeys random = new RandomKeys(5);
    for (int trial = 0; trial < 200; trial++) {
      KeyColumn column = random.column(domain, random.between(1, 200));
      int bits = random.between(1, 16);
      Boundaries boundaries = Boundaries.of(column, random.between(1, 30));
      List<Naive.Thing> naive = Naive.boundaries(column, 30);
      int[] positions = Boundaries.of(column, 30).positions(column, bits, PrefixOrder.OF_KEYS);
      assertArrayEquals(Naive.positions(naive, Naive.things(column), bits), positions);
      int[] ascending = boundaries.positions(column, bits, PrefixOrder.OF_KEYS);
      assertEquals(0, ascending[0]);
      for (int bucket = 1; bucket < ascending.length; bucket++) {
        assertTrue(ascending[bucket - 1] <= ascending[bucket] && ascending[bucket] < 1 << bits);
      }
    }
  }
}
