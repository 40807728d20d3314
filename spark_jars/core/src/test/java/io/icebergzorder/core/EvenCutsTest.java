package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class EvenCutsTest {
  @Test
  void distinctIndexesAreCutEvenly() {
    EvenCuts cuts = EvenCuts.of(LongStream.range(0, 100).toArray(), 4);
    assertArrayEquals(new long[] {25, 50, 75}, cuts.starts());
    assertEquals(4, cuts.files());
    assertEquals(0, cuts.file(24));
    assertEquals(1, cuts.file(25));
    assertEquals(3, cuts.file(Long.MAX_VALUE));
  }

  @Test
  void aCutMovesToTheNearerEdgeOfARunOfEqualIndexes() {
    // rank 3 lies in the run of 7s at ranks [1, 6): edge 1 is 2 away, edge 6 is 3 away
    assertArrayEquals(new long[] {7}, EvenCuts.of(new long[] {0, 7, 7, 7, 7, 7}, 2).starts());
    assertArrayEquals(new long[] {7}, EvenCuts.of(new long[] {0, 7, 7, 7, 7, 9}, 2).starts());
    assertArrayEquals(new long[] {9}, EvenCuts.of(new long[] {0, 7, 7, 7, 9, 9, 9}, 2).starts());
    // the lower edge of a run at the start would cut off nothing
    assertArrayEquals(new long[] {9}, EvenCuts.of(new long[] {7, 7, 7, 7, 7, 9}, 2).starts());
  }

  @Test
  void whatCannotBeCutIsOneFile() {
    assertEquals(1, EvenCuts.of(new long[0], 5).files());
    assertEquals(1, EvenCuts.of(new long[] {3, 3, 3}, 5).files());
    assertEquals(1, EvenCuts.of(new long[] {1, 2, 3}, 1).files());
    assertEquals(0, EvenCuts.of(new long[0], 5).file(17));
  }

  @Test
  void thereMayBeMoreFilesThanRows() {
    assertArrayEquals(new long[] {2, 3}, EvenCuts.of(new long[] {1, 2, 3}, 1000).starts());
    assertArrayEquals(
        new long[] {2, 3}, EvenCuts.of(new long[] {1, 2, 3}, Integer.MAX_VALUE).starts());
  }

  @Test
  void agreeWithTheDefinition() {
    RandomKeys random = new RandomKeys(6);
    for (int trial = 0; trial < 500; trial++) {
      long step = trial % 2 == 0 ? 1 : Long.MAX_VALUE / 50;
      int distinct = random.between(1, 50);
      long[] sorted =
          LongStream.generate(() -> random.between(0, distinct) * step)
              .limit(random.between(0, 200))
              .sorted()
              .toArray();
      int files = random.between(1, trial % 3 == 0 ? 300 : 30);
      EvenCuts cuts = EvenCuts.of(sorted, files);
      assertArrayEquals(Naive.starts(sorted, files), cuts.starts(), "trial " + trial);
      assertTrue(cuts.files() <= files);
      for (long index : sorted) {
        long expected = Arrays.stream(cuts.starts()).filter(start -> start <= index).count();
        assertEquals(expected, cuts.file(index));
      }
      long[] used = Arrays.stream(sorted).map(cuts::file).distinct().toArray();
      assertEquals(sorted.length == 0 ? 0 : cuts.files(), used.length, "every file has rows");
    }
  }
}
