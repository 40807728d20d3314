package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Rows are placed as the nodes of a tree, or the starts of even cuts, say when they are read one by one. */
class PlacementTest {
  private final Random random = new Random(11);

  @Test
  void agreesWithTheDefinition() {
    for (int trial = 0; trial < 300; trial++) {
      Layout layout = layout(trial % 2 == 0 ? BoxTree.KIND : EvenCuts.KIND);
      Placement placement = layout.placement();
      assertEquals(layout.files(), placement.files());
      for (int row = 0; row < 50; row++) {
        int most = (1 << layout.bits()) - 1;
        int[] positions = random.ints(layout.columns().size(), 0, most + 1).toArray();
        long tieBreaker = random.nextLong();
        long packed = packed(positions, layout.bits());
        long index = index(layout, positions);
        assertEquals(index, placement.index(packed));
        assertTrue(index >= 0);
        int file =
            layout.cuts() instanceof EvenCuts even
                ? (int) LongStream.of(even.starts()).filter(start -> start <= index).count()
                : file((BoxTree) layout.cuts(), positions, tieBreaker);
        assertEquals(file, placement.file(packed, tieBreaker));
        assertEquals(index, placement.index(packed, file));
        assertTrue(placement.needsTieBreakers() || placement.file(packed, 0) == file);
      }
    }
  }

  @Test
  void ofALayoutPlacesItsRows() {
    for (int trial = 0; trial < 50; trial++) {
      Layout layout = layout(trial % 2 == 0 ? BoxTree.KIND : EvenCuts.KIND);
      int columns = layout.columns().size();
      int fitted = layout.leftOut().size() + columns;
      Sample rows = new Sample(IntStream.range(0, fitted).mapToObj(column -> keys(30)).toList());
      long[] packed =
          IntStream.range(0, rows.rows())
              .mapToLong(row -> packed(positions(layout, rows, row), layout.bits()))
              .toArray();
      assertArrayEquals(packed, layout.packed(rows));
      assertArrayEquals(LongStream.of(packed).map(layout.placement()::index).toArray(), layout.indexes(rows));
    }
  }

  private Layout layout(String cuts) {
    int columns = 1 + random.nextInt(4);
    List<PrefixOrder> prefix = new ArrayList<>();
    for (int i = random.nextInt(3); i > 0; i--) {
      prefix.add(new PrefixOrder(random.nextBoolean(), random.nextBoolean()));
    }
    int all = columns + prefix.size();
    List<ClusteringColumn> names =
        IntStream.range(0, all).mapToObj(column -> new ClusteringColumn(List.of("c" + column), "long")).toList();
    int rows = 1 + random.nextInt(80);
    Sample sample = new Sample(IntStream.range(0, all).mapToObj(column -> keys(rows)).toList());
    Curve curve = random.nextBoolean() ? Curve.ZORDER : Curve.HILBERT;
    double[] weights = random.doubles(random.nextBoolean() ? columns : 0, 0.1, 9).toArray();
    return Layout.fit(names, sample, new LayoutRequest(1 + random.nextInt(20), cuts, curve, prefix, 20, 0.25, weights));
  }

  private KeyColumn keys(int rows) {
    int values = 1 + random.nextInt(40);
    byte[] states = new byte[rows];
    IntStream.range(0, rows).filter(row -> random.nextInt(8) == 0).forEach(row -> states[row] = KeyColumn.NULL);
    return KeyColumn.ofLongs(random.longs(rows, 0, values).toArray(), states);
  }

  private static int[] positions(Layout layout, Sample rows, int row) {
    return layout.columns().stream()
        .mapToInt(of -> of.positions()[of.boundaries().bucketOf(rows.columns().get(of.ordinal()), row)])
        .toArray();
  }

  private static long packed(int[] positions, int bits) {
    BigInteger packed = BigInteger.ZERO;
    for (int position : positions) {
      packed = packed.shiftLeft(bits).add(BigInteger.valueOf(position));
    }
    return packed.longValueExact();
  }

  /** The leaf of a row below a node, the files before it there, and all files there. */
  private record Found(BoxTree.Leaf leaf, int before, int files) {}

  private static Found find(Iterator<BoxTree.Node> preorder, int[] positions) {
    BoxTree.Node node = preorder.next();
    if (node instanceof BoxTree.Leaf leaf) {
      return new Found(leaf, 0, leaf.files());
    }
    BoxTree.Split split = (BoxTree.Split) node;
    Found left = find(preorder, positions);
    Found right = find(preorder, positions);
    int files = left.files() + right.files();
    return positions[split.column()] < split.start()
        ? new Found(left.leaf(), left.before(), files)
        : new Found(right.leaf(), left.files() + right.before(), files);
  }

  private static int file(BoxTree tree, int[] positions, long tieBreaker) {
    Found found = find(tree.nodes().iterator(), positions);
    BigInteger files = BigInteger.valueOf(found.leaf().files());
    return found.before() + BigInteger.valueOf(tieBreaker).mod(files).intValue();
  }

  private static long index(Layout layout, int[] positions) {
    int[] ofCurve = positions.clone();
    long before = packed(Arrays.copyOf(positions, layout.leading()), layout.bits());
    if (layout.cuts() instanceof BoxTree tree) {
      BoxTree.Leaf leaf = find(tree.nodes().iterator(), positions).leaf();
      for (int column = 0; column < positions.length; column++) {
        int low = leaf.lower()[column];
        int high = leaf.upper()[column];
        long inside = Math.min(high, Math.max(low, positions[column])) - low;
        ofCurve[column] = (int) (inside * (1L << layout.bits()) / (high - low + 1));
      }
      before = 0;
    }
    ofCurve = Arrays.copyOfRange(ofCurve, layout.leading(), ofCurve.length);
    if (ofCurve.length == 0) {
      return before;
    }
    long index = Naive.index(ofCurve, layout.bits());
    index = layout.curve() == Curve.ZORDER ? index : HilbertCurve.of(ofCurve.length).index(index, layout.bits());
    return before << layout.bits() * ofCurve.length | index;
  }
}
