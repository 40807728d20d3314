package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The laws of adaptive cuts; the golden files hold the grown trees to Python's. */
class BoxTreeTest {
  private static int[][] permutations(int columns, int rows, int bits) {
    int[][] positions = new int[columns][];
    Random random = new Random(columns);
    for (int column = 0; column < columns; column++) {
      List<Integer> shuffled = new ArrayList<>(IntStream.range(0, rows).boxed().toList());
      Collections.shuffle(shuffled, random);
      positions[column] = shuffled.stream().mapToInt(place -> (int) (((long) place << bits) / rows)).toArray();
    }
    return positions;
  }

  private static long packed(int[][] positions, int row, int bits) {
    long packed = 0;
    for (int[] column : positions) {
      packed = packed << bits | column[row];
    }
    return packed;
  }

  private static double[] ones(int columns) {
    double[] weights = new double[columns];
    Arrays.fill(weights, 1);
    return weights;
  }

  @ParameterizedTest
  @CsvSource({"1,7,0.1", "1,64,0.25", "2,50,0.25", "2,64,0.1", "3,64,0.25", "3,2,0.1"})
  void sizesKeepToTheTolerance(int columns, int files, double tolerance) {
    int rows = 40_000;
    int[][] positions = permutations(columns, rows, 16);
    BoxTree tree = BoxTreeGrower.grow(positions, rows, 16, files, tolerance, ones(columns), 0, null, 0);
    int[] counts = new int[files];
    for (int row = 0; row < rows; row++) {
      counts[tree.file(tree.leaf(packed(positions, row, 16)), row)]++;
    }
    assertEquals(files, tree.files());
    assertEquals(files, tree.nodes().stream().filter(BoxTree.Leaf.class::isInstance).count());
    assertTrue(Arrays.stream(counts).min().getAsInt() >= Math.floor((1 - tolerance) * rows / files));
    assertTrue(Arrays.stream(counts).max().getAsInt() <= Math.ceil((1 + tolerance) * rows / files));
  }

  @Test
  void everyRowIsInTheBoxOfItsLeaf() {
    Random random = new Random(3);
    for (int trial = 0; trial < 100; trial++) {
      int rows = 1 + random.nextInt(200);
      int[][] positions = new int[3][];
      for (int column = 0; column < 3; column++) {
        int values = 1 + random.nextInt(20);
        positions[column] = IntStream.range(0, rows).map(row -> random.nextInt(values)).toArray();
      }
      BoxTree tree =
          BoxTreeGrower.grow(positions, rows, 5, 1 + random.nextInt(12), 0.25, ones(3), random.nextInt(3), null, 0);
      List<BoxTree.Leaf> leaves =
          tree.nodes().stream().filter(BoxTree.Leaf.class::isInstance).map(BoxTree.Leaf.class::cast).toList();
      for (int row = 0; row < rows; row++) {
        BoxTree.Leaf leaf = leaves.get(tree.leaf(packed(positions, row, 5)));
        for (int column = 0; column < 3; column++) {
          assertTrue(leaf.lower()[column] <= positions[column][row] && positions[column][row] <= leaf.upper()[column]);
        }
      }
      assertTrue(
          leaves.stream().allMatch(leaf -> leaf.files() == 1 || Arrays.equals(leaf.lower(), leaf.upper())),
          "only rows that nothing tells apart share a leaf of several files");
    }
  }

  @Test
  void agreesWithTheDefinition() {
    Random random = new Random(7);
    for (int trial = 0; trial < 400; trial++) {
      int columns = 1 + random.nextInt(3);
      int rows = 1 + random.nextInt(80);
      int[][] positions = new int[columns][];
      for (int column = 0; column < columns; column++) {
        int values = 1 + random.nextInt(random.nextBoolean() ? 4 : 64);
        positions[column] = random.ints(rows, 0, values).toArray();
      }
      int files = 1 + random.nextInt(24);
      double tolerance = new double[] {0, 0.1, 0.25, 0.6}[random.nextInt(4)];
      double[] weights = random.nextBoolean() ? ones(columns) : random.doubles(columns, 0.1, 9).toArray();
      int leading = random.nextInt(columns + 1);
      BoxTree tree = BoxTreeGrower.grow(positions, rows, 6, files, tolerance, weights, leading, null, 0);
      List<int[]> table =
          IntStream.range(0, rows)
              .mapToObj(row -> Arrays.stream(positions).mapToInt(column -> column[row]).toArray())
              .toList();
      NaiveGrower naive = new NaiveGrower(table, files, tolerance, weights, leading);
      assertEquals(naive.nodes(table, files), tree.nodes().stream().map(BoxTreeTest::numbers).toList());
    }
  }

  private static List<Integer> numbers(BoxTree.Node node) {
    if (node instanceof BoxTree.Split split) {
      return List.of(split.column(), split.start());
    }
    BoxTree.Leaf leaf = (BoxTree.Leaf) node;
    List<Integer> numbers = new ArrayList<>(List.of(leaf.files()));
    for (int column = 0; column < leaf.lower().length; column++) {
      numbers.add(leaf.lower()[column]);
      numbers.add(leaf.upper()[column]);
    }
    return numbers;
  }

  @Test
  void rowsThatNothingTellsApartAreSpread() {
    BoxTree tree = BoxTreeGrower.grow(new int[0][], 50, 0, 3, 0.25, new double[0], 0, null, 0);
    assertTrue(tree.needsTieBreakers());
    assertEquals(3, tree.files());
    assertEquals(List.of(0, 1, 2, 0), IntStream.of(0, 1, 2, 3).mapToObj(i -> tree.file(tree.leaf(0), i)).toList());
    assertEquals(2, tree.file(tree.leaf(0), -1));
    assertFalse(BoxTreeGrower.grow(new int[0][], 50, 0, 1, 0.25, new double[0], 0, null, 0).needsTieBreakers());
  }

  @ParameterizedTest
  @CsvSource({"2", "3"})
  void twoThousandFiles(int columns) {
    int[][] positions = permutations(columns, 200_000, 16);
    for (int repeat = 0; repeat < 3; repeat++) {
      long start = System.nanoTime();
      BoxTree tree = BoxTreeGrower.grow(positions, 200_000, 16, 2_000, 0.25, ones(columns), 0, null, 0);
      System.out.printf("2,000 files of %d columns: %d ms%n", columns, (System.nanoTime() - start) / 1_000_000);
      assertEquals(2_000, tree.nodes().stream().filter(BoxTree.Leaf.class::isInstance).count());
    }
  }
}
