package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class LayoutTest {
  private static LayoutRequest even(int files, int maxBoundaries) {
    return new LayoutRequest(files, EvenCuts.KIND, Curve.ZORDER, List.of(), maxBoundaries, 0.25, new double[0]);
  }

  private static LayoutRequest adaptive(int files) {
    return new LayoutRequest(files, BoxTree.KIND, Curve.ZORDER, List.of(), 4096, 0.25, new double[0]);
  }

  private static ClusteringColumn column(String name, String type) {
    return new ClusteringColumn(List.of(name), type);
  }

  private static KeyColumn longs(long... keys) {
    return KeyColumn.ofLongs(keys, new byte[keys.length]);
  }

  private static KeyColumn strings(String... keys) {
    byte[][] bytes = Arrays.stream(keys).map(Keys::ofString).toArray(byte[][]::new);
    return KeyColumn.ofBytes(bytes, new byte[keys.length]);
  }

  private static Layout example() {
    List<ClusteringColumn> columns =
        List.of(column("c", "int"), column("a \u0001\n\"é", "int"), column("b", "string"));
    Sample sample =
        new Sample(
            List.of(longs(3, 3, 3, 3), longs(1, 1, 2, 2), strings("x", "y", "x", "y")));
    return Layout.fit(columns, sample, even(4, 4096));
  }

  @Test
  void canonicalJson() {
    assertEquals(
        "{\"bits\":16,\"columns\":[{\"boundaries\":[2],\"name\":\"`a \\u0001\\n\\\"é`\","
            + "\"positions\":[0,32768,65535,65535],\"type\":\"int\"},"
            + "{\"boundaries\":[\"79\"],\"name\":\"b\",\"positions\":[0,32768,65535,65535],"
            + "\"type\":\"string\"}],\"curve\":\"zorder\","
            + "\"cuts\":{\"kind\":\"even\",\"starts\":[1073741824,2147483648,3221225472]},"
            + "\"left_out\":[\"c\"],\"prefix\":0,\"version\":1}",
        example().toJson());
    assertEquals(64, example().hash().length());
  }

  @Test
  void controlCharactersAreEscapedInLowerCase() {
    Sample sample = new Sample(List.of(longs(1)));
    String json = Layout.fit(List.of(column("\u001f\u007f\u2028/\b\f\t\r\\", "int")), sample, even(1, 1)).toJson();
    assertEquals(
        "{\"bits\":0,\"columns\":[],\"curve\":\"zorder\",\"cuts\":{\"kind\":\"even\",\"starts\":[]},"
            + "\"left_out\":[\"`\\u001f\u007f\u2028/\\b\\f\\t\\r\\\\`\"],\"prefix\":0,\"version\":1}",
        json);
  }

  @Test
  void aConstantColumnIsLeftOut() {
    Layout layout = example();
    assertEquals(List.of("c"), layout.leftOut());
    assertEquals(List.of(1, 2), layout.columns().stream().map(LayoutColumn::ordinal).toList());
    assertEquals(16, layout.bits());
    assertEquals(4, layout.files());
    assertEquals(Curve.ZORDER, layout.curve());
  }

  @Test
  void aKeyBesideNullOrNanIsNotConstant() {
    KeyColumn mixed = KeyColumn.ofLongs(new long[] {1, 1}, new byte[] {0, KeyColumn.NULL});
    KeyColumn nothing = KeyColumn.ofLongs(new long[2], new byte[] {1, KeyColumn.NULL});
    KeyColumn nulls = KeyColumn.ofLongs(new long[] {1, 2}, new byte[] {KeyColumn.NULL, KeyColumn.NULL});
    List<ClusteringColumn> columns =
        List.of(column("a", "double"), column("b", "double"), column("c", "double"));
    Layout layout = Layout.fit(columns, new Sample(List.of(mixed, nothing, nulls)), even(2, 10));
    assertEquals(List.of("c"), layout.leftOut());
    assertArrayEquals(new int[] {0, 32768, 32768}, layout.columns().get(0).positions());
    assertArrayEquals(new int[] {0, 0, 32768}, layout.columns().get(1).positions());
  }

  @Test
  void twoKeysWithoutABoundaryBetweenThemAreStillTwoThings() {
    Layout layout = Layout.fit(List.of(column("a", "int")), new Sample(List.of(longs(0, 0, 0, 1))), even(2, 1));
    assertEquals(List.of(), layout.leftOut());
    assertEquals(0, layout.columns().get(0).boundaries().size());
    assertEquals(1, layout.files());
  }

  @Test
  void withoutRowsThereIsOneFile() {
    Layout layout = Layout.fit(List.of(column("a", "int")), new Sample(List.of(longs())), even(7, 4096));
    assertEquals(List.of("a"), layout.leftOut());
    assertEquals(1, layout.files());
    assertArrayEquals(new long[] {0, 0}, layout.indexes(new Sample(List.of(longs(4, 5)))));
  }

  @Test
  void atMost63Columns() {
    List<ClusteringColumn> columns =
        IntStream.range(0, 64).mapToObj(i -> column("c" + i, "int")).toList();
    List<KeyColumn> keys = IntStream.range(0, 64).mapToObj(i -> longs(i, i + 1)).toList();
    Layout layout = Layout.fit(columns.subList(0, 63), new Sample(keys.subList(0, 63)), even(2, 10));
    assertEquals(1, layout.bits());
    assertArrayEquals(new long[] {Long.MAX_VALUE}, ((EvenCuts) layout.cuts()).starts());
    Exception e =
        assertThrows(
            IllegalArgumentException.class, () -> Layout.fit(columns, new Sample(keys), even(2, 10)));
    assertEquals(
        "Cannot lay out 64 clustering columns, because the index has room for 63", e.getMessage());
  }

  @Test
  void agreesWithTheDefinition() {
    RandomKeys random = new RandomKeys(7);
    for (int trial = 0; trial < 200; trial++) {
      int rows = random.between(0, 150);
      List<ClusteringColumn> columns = new ArrayList<>();
      List<KeyColumn> keys = new ArrayList<>();
      for (int c = random.between(1, 6); c > 0; c--) {
        boolean bytes = random.between(0, 1) == 1;
        columns.add(new ClusteringColumn(List.of("s`" + c, "zorder"), bytes ? "fixed[3]" : "decimal(4, 2)"));
        keys.add(random.column(bytes ? KeyDomain.BYTES : KeyDomain.LONG, rows));
      }
      int max = random.between(1, 40);
      int files = random.between(1, 20);
      Layout layout = Layout.fit(columns, new Sample(keys), even(files, max));
      List<KeyColumn> active = keys.stream().filter(Naive::isActive).toList();
      long[] expected = naiveIndexes(active, rows, max);
      assertArrayEquals(expected, layout.indexes(new Sample(keys)));
      assertArrayEquals(
          Naive.starts(LongStream.of(expected).sorted().toArray(), files), ((EvenCuts) layout.cuts()).starts());
    }
  }

  private static long[] naiveIndexes(List<KeyColumn> active, int rows, int max) {
    int bits = Layout.bitsFor(active.size());
    int[][] positions = new int[rows][active.size()];
    for (int c = 0; c < active.size(); c++) {
      List<Naive.Thing> boundaries = Naive.boundaries(active.get(c), max);
      List<Naive.Thing> things = Naive.things(active.get(c));
      int[] table = Naive.positions(boundaries, things, bits);
      for (int row = 0; row < rows; row++) {
        positions[row][c] = table[Naive.bucket(boundaries, things.get(row))];
      }
    }
    return Arrays.stream(positions).mapToLong(row -> Naive.index(row, bits)).toArray();
  }

  @Test
  void aPlacementTravels() throws Exception {
    Layout layout =
        Layout.fit(
            List.of(column("a", "int"), column("b", "int")),
            new Sample(List.of(longs(1, 2, 3, 4, 5, 6), longs(3, 1, 6, 2, 5, 4))),
            adaptive(4));
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    new ObjectOutputStream(bytes).writeObject(layout.placement());
    Placement travelled =
        (Placement) new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
    for (long packed = 0; packed < 1L << 32; packed += 12_345_679) {
      assertEquals(layout.placement().file(packed, 3), travelled.file(packed, 3));
      assertEquals(layout.placement().index(packed), travelled.index(packed));
    }
  }
}
