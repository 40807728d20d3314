package io.icebergzorder.core;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Adaptive cuts: a tree of splits whose leaves are files, each one box in the space of the positions.
 *
 * <pre>
 *   a &lt; 21845 ?
 *   |-- yes: b &lt; 40000 ?
 *   |        |-- yes: file 0
 *   |        `-- no:  file 1
 *   `-- no:  files 2 and 3      a box that cannot be split, shared out evenly
 * </pre>
 *
 * <p>Rows come as packed positions, see {@link Placement}. Nothing here allocates once it is built.
 */
public final class BoxTree implements Cuts {
  private static final long serialVersionUID = 1L;


  public static final String KIND = "adaptive";

  /** A node: a split or a leaf. */
  public sealed interface Node extends Serializable permits Split, Leaf {}

  /** Rows whose position in an active column lies below {@code start}, at least 1, go left. */
  public record Split(int column, int start) implements Node {}

  /**
   * A box, and the files that its rows go to.
   *
   * @param files at least 1; more than one where rows are too alike to be told apart
   * @param lower the smallest sampled position in every column; 0 without a sampled row
   * @param upper the largest; 2^bits - 1 without a sampled row
   */
  public record Leaf(int files, int[] lower, int[] upper) implements Node {}

  private final List<Node> nodes;
  private final int bits;
  private final int columns;

  // By node: the shift of the column that it splits, or -1; the first position on the right side;
  // the node on the right side, or, of a leaf, its number.
  private final int[] shifts;
  private final int[] starts;
  private final int[] next;

  // By leaf; the edges by leaf and column.
  private final int[] firstFile;
  private final int[] filesOf;
  private final int[] lower;
  private final int[] upper;

  /** By file. */
  private final int[] leafOf;

  /** Takes one whole tree in preorder: a split, its left side, its right side. */
  BoxTree(List<? extends Node> preorder, int bits, int columns) {
    this.nodes = List.copyOf(preorder);
    this.bits = bits;
    this.columns = columns;
    List<Leaf> leaves = nodes.stream().filter(Leaf.class::isInstance).map(Leaf.class::cast).toList();
    shifts = new int[nodes.size()];
    starts = new int[nodes.size()];
    next = new int[nodes.size()];
    firstFile = new int[leaves.size()];
    filesOf = leaves.stream().mapToInt(Leaf::files).toArray();
    lower = leaves.stream().flatMapToInt(leaf -> Arrays.stream(leaf.lower())).toArray();
    upper = leaves.stream().flatMapToInt(leaf -> Arrays.stream(leaf.upper())).toArray();
    leafOf = new int[Arrays.stream(filesOf).sum()];
    List<Integer> waiting = new ArrayList<>();
    int leaf = 0;
    int file = 0;
    for (int node = 0; node < shifts.length; node++) {
      if (nodes.get(node) instanceof Split split) {
        shifts[node] = bits * (columns - 1 - split.column());
        starts[node] = split.start();
        waiting.add(node);
        continue;
      }
      shifts[node] = -1;
      next[node] = leaf;
      firstFile[leaf] = file;
      Arrays.fill(leafOf, file, file + filesOf[leaf], leaf);
      file += filesOf[leaf];
      leaf++;
      if (!waiting.isEmpty()) {
        next[waiting.remove(waiting.size() - 1)] = node + 1;
      }
    }
  }

  public List<Node> nodes() {
    return nodes;
  }

  @Override
  public int files() {
    return leafOf.length;
  }

  @Override
  public String kind() {
    return KIND;
  }

  boolean needsTieBreakers() {
    return leafOf.length > filesOf.length;
  }

  /** The leaf of a row, counted from the left. */
  int leaf(long packed) {
    long mask = (1L << bits) - 1;
    int node = 0;
    while (shifts[node] >= 0) {
      node = (packed >>> shifts[node] & mask) < starts[node] ? node + 1 : next[node];
    }
    return next[node];
  }

  /** The file of a row: the tie breaker, any number that depends on the row alone, spreads rows over the files of their leaf. */
  int file(int leaf, long tieBreaker) {
    int count = filesOf[leaf];
    return firstFile[leaf] + (count == 1 ? 0 : (int) Math.floorMod(tieBreaker, (long) count));
  }

  int leafOf(int file) {
    return leafOf[file];
  }

  /** A position moved into the box of its leaf and stretched over it: floor((p - lower) * 2^bits / (upper - lower + 1)). */
  int stretched(int position, int leaf, int column) {
    int low = lower[leaf * columns + column];
    int high = upper[leaf * columns + column];
    int inside = Math.max(low, Math.min(high, position)) - low;
    return (int) (((long) inside << bits) / (high - low + 1));
  }
}
