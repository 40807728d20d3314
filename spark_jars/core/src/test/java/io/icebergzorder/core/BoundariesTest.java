package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class BoundariesTest {
  private static KeyColumn longs(long... keys) {
    return KeyColumn.ofLongs(keys, new byte[keys.length]);
  }

  private static long[] boundaries(int max, long... keys) {
    return Boundaries.of(longs(keys), max).longs();
  }

  @Test
  void fewDistinctKeysEachHaveABucket() {
    assertArrayEquals(new long[] {5, 9}, boundaries(3, 9, 1, 5, 1));
    assertArrayEquals(new long[] {}, boundaries(3, 7, 7));
    assertArrayEquals(new long[] {}, boundaries(3));
  }

  @Test
  void manyDistinctKeysAreSplitAtEvenRanks() {
    assertArrayEquals(new long[] {25, 50, 75}, boundaries(3, LongStream.range(0, 100).toArray()));
  }

  @Test
  void aHeavyKeyHasABucketOfItsOwn() {
    long[] keys = LongStream.concat(LongStream.range(0, 50), LongStream.generate(() -> 20).limit(50)).toArray();
    Boundaries boundaries = Boundaries.of(longs(keys), 4);
    assertEquals(boundaries.bucket(20), boundaries.bucket(19) + 1);
    assertEquals(boundaries.bucket(20), boundaries.bucket(21) - 1);
  }

  @Test
  void aHeavySmallestKeyIsClosedAbove() {
    assertArrayEquals(new long[] {1}, boundaries(2, 0, 0, 0, 1, 1, 2));
  }

  @Test
  void oneBoundaryMayFallOnTheSmallestKeyAndVanish() {
    assertArrayEquals(new long[] {}, boundaries(1, 0, 0, 0, 1));
    assertArrayEquals(new long[] {1}, boundaries(1, 0, 1));
  }

  @ParameterizedTest
  @EnumSource(KeyDomain.class)
  void agreeWithTheDefinition(KeyDomain domain) {
    RandomKeys random = new RandomKeys(1);
    for (int trial = 0; trial < 400; trial++) {
      KeyColumn column = random.column(domain, random.between(0, 300));
      int max = random.between(1, 40);
      Boundaries boundaries = Boundaries.of(column, max);
      List<Naive.Thing> expected = Naive.boundaries(column, max);
      assertEquals(expected, things(boundaries), "trial " + trial);
      for (int row = 0; row < column.size(); row++) {
        int bucket = Naive.bucket(expected, Naive.Thing.of(column, row));
        assertEquals(bucket, boundaries.bucketOf(column, row), "trial " + trial);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(KeyDomain.class)
  void strictlyIncreaseAndBucketsFollowTheKeys(KeyDomain domain) {
    RandomKeys random = new RandomKeys(2);
    for (int trial = 0; trial < 200; trial++) {
      KeyColumn column = random.column(domain, random.between(1, 200));
      Boundaries boundaries = Boundaries.of(column, random.between(1, 20));
      List<Naive.Thing> values = things(boundaries);
      for (int i = 1; i < values.size(); i++) {
        assertTrue(values.get(i - 1).compareTo(values.get(i)) < 0);
      }
      List<Integer> rows = IntStream.range(0, column.size()).boxed()
          .sorted((a, b) -> Naive.Thing.of(column, a).compareTo(Naive.Thing.of(column, b))).toList();
      for (int i = 1; i < rows.size(); i++) {
        int lower = boundaries.bucketOf(column, rows.get(i - 1));
        int upper = boundaries.bucketOf(column, rows.get(i));
        assertTrue(lower <= upper);
        if (Naive.Thing.of(column, rows.get(i - 1)).equals(Naive.Thing.of(column, rows.get(i)))) {
          assertEquals(lower, upper);
        }
      }
    }
  }

  @Test
  void everyHeavyKeyIsAloneInItsBucket() {
    RandomKeys random = new RandomKeys(3);
    for (int trial = 0; trial < 200; trial++) {
      KeyColumn column = random.column(KeyDomain.LONG, random.between(2, 300));
      // one boundary is too few to close the bucket on both sides
      int max = random.between(2, 12);
      Boundaries boundaries = Boundaries.of(column, max);
      List<Naive.Thing> keys = Naive.things(column).stream().filter(t -> t.state() == 0).toList();
      for (Naive.Thing key : keys) {
        long count = keys.stream().filter(key::equals).count();
        if (count * max >= keys.size()) {
          long together = keys.stream()
              .filter(k -> Naive.bucket(things(boundaries), k) == Naive.bucket(things(boundaries), key))
              .count();
          assertEquals(count, together, "trial " + trial);
        }
      }
    }
  }

  @Test
  void aPrefixSortsFirstAndBytesAreUnsigned() {
    byte[][] keys = {{}, {0}, {0, 0}, {0x7f}, {(byte) 0x80}, {(byte) 0xff}};
    Boundaries boundaries = Boundaries.of(KeyColumn.ofBytes(keys, new byte[6]), 10);
    for (int bucket = 0; bucket < keys.length; bucket++) {
      assertEquals(bucket, boundaries.bucket(keys[bucket]));
    }
    assertEquals(6, boundaries.nanBucket());
    assertEquals(7, boundaries.nullBucket());
    assertEquals(8, boundaries.buckets());
  }

  @Test
  void travelToExecutors() throws Exception {
    Boundaries longs = Boundaries.of(longs(1, 2, 3), 5);
    assertArrayEquals(longs.longs(), ((Boundaries) travelled(longs)).longs());
    byte[][] keys = {{1}, {2}};
    Boundaries bytes = Boundaries.of(KeyColumn.ofBytes(keys, new byte[2]), 5);
    assertTrue(Arrays.deepEquals(bytes.bytes(), ((Boundaries) travelled(bytes)).bytes()));
    EvenCuts cuts = new EvenCuts(new long[] {4, 9});
    assertArrayEquals(cuts.starts(), ((EvenCuts) travelled(cuts)).starts());
  }

  private static Object travelled(Object object) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(object);
    }
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      return in.readObject();
    }
  }

  private static List<Naive.Thing> things(Boundaries boundaries) {
    return boundaries.bytes() == null
        ? Arrays.stream(boundaries.longs()).mapToObj(Naive.Thing::of).toList()
        : Arrays.stream(boundaries.bytes()).map(Naive.Thing::of).toList();
  }
}
