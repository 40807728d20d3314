package io.icebergzorder.core;

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


  /** The name of this kind of cuts in an option and in a layout. */
  public static final String KIND = "adaptive";

  /** A node: a split or a leaf. */
  public sealed interface Node permits Split, Leaf {}

  /**
   * Rows whose position in a column lies below {@code start} go left.
   *
   * @param column the place of the column among the active ones
   * @param start the first position on the right side, at least 1
   */
  public record Split(int column, int start) implements Node {}

  /**
   * A box, and the files that its rows go to.
   *
   * @param files at least 1; more than one where rows are too alike to be told apart
   * @param lower the smallest sampled position in every column; 0 without a sampled row
   * @param upper the largest; 2^bits - 1 without a sampled row
   */
  public record Leaf(int files, int[] lower, int[] upper) implements Node {}

  private final int bits;
  private final int columns;
  private final int files;

  // By node, in preorder: the shift of the column that it splits, or -1; the first position on the right side;
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

  /**
   * Makes a tree of its nodes.
   *
   * @param preorder a split, its left side, its right side; one whole tree
   * @param bits the bits of a position
   * @param columns the number of active columns
   * @throws IllegalArgumentException if the nodes are not one whole tree, or have 2^31 files or more
   */
  public BoxTree(List<? extends Node> preorder, int bits, int columns) {
    this.bits = bits;
    this.columns = columns;
    int leaves = (int) preorder.stream().filter(Leaf.class::isInstance).count();
    shifts = new int[preorder.size()];
    starts = new int[preorder.size()];
    next = new int[preorder.size()];
    firstFile = new int[leaves];
    filesOf = new int[leaves];
    lower = new int[leaves * columns];
    upper = new int[leaves * columns];
    List<Integer> waiting = new ArrayList<>();
    int leaf = 0;
    long file = 0;
    for (int node = 0; node < shifts.length; node++) {
      if (leaf > 0 && leaf == node - leaf + 1) {
        throw notWhole();
      }
      if (preorder.get(node) instanceof Split split) {
        shifts[node] = bits * (columns - 1 - split.column());
        starts[node] = split.start();
        waiting.add(node);
        continue;
      }
      Leaf box = (Leaf) preorder.get(node);
      shifts[node] = -1;
      next[node] = leaf;
      firstFile[leaf] = (int) file;
      filesOf[leaf] = box.files();
      System.arraycopy(box.lower(), 0, lower, leaf * columns, columns);
      System.arraycopy(box.upper(), 0, upper, leaf * columns, columns);
      leaf++;
      file += box.files();
      if (!waiting.isEmpty()) {
        next[waiting.remove(waiting.size() - 1)] = node + 1;
      }
    }
    if (leaf != shifts.length - leaf + 1) {
      throw notWhole();
    }
    if (file > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "Cannot use adaptive cuts, because %d files are more than %d".formatted(file, Integer.MAX_VALUE));
    }
    files = (int) file;
    leafOf = new int[files];
    for (int of = 0; of < leaves; of++) {
      Arrays.fill(leafOf, firstFile[of], firstFile[of] + filesOf[of], of);
    }
  }

  private static IllegalArgumentException notWhole() {
    return new IllegalArgumentException("Cannot use adaptive cuts, because their nodes are not one whole tree");
  }

  /** The nodes in preorder. */
  public List<Node> nodes() {
    List<Node> nodes = new ArrayList<>();
    for (int node = 0; node < shifts.length; node++) {
      if (shifts[node] >= 0) {
        nodes.add(new Split(columns - 1 - shifts[node] / bits, starts[node]));
      } else {
        int from = next[node] * columns;
        int[] low = Arrays.copyOfRange(lower, from, from + columns);
        int[] high = Arrays.copyOfRange(upper, from, from + columns);
        nodes.add(new Leaf(filesOf[next[node]], low, high));
      }
    }
    return nodes;
  }

  @Override
  public int files() {
    return files;
  }

  @Override
  public String kind() {
    return KIND;
  }

  /** The number of leaves; at most {@link #files}. */
  public int leaves() {
    return filesOf.length;
  }

  /** Whether some leaf has more than one file. */
  public boolean needsTieBreakers() {
    return files > leaves();
  }

  /**
   * The leaf of a row.
   *
   * @return in [0, {@link #leaves}), left to right
   */
  int leaf(long packed) {
    long mask = (1L << bits) - 1;
    int node = 0;
    while (shifts[node] >= 0) {
      node = (packed >>> shifts[node] & mask) < starts[node] ? node + 1 : next[node];
    }
    return next[node];
  }

  /**
   * The file of a row.
   *
   * @param leaf the row's leaf
   * @param tieBreaker spreads the rows of a leaf over its files, by its remainder
   * @return in [0, {@link #files})
   */
  int file(int leaf, long tieBreaker) {
    int count = filesOf[leaf];
    return firstFile[leaf] + (count == 1 ? 0 : (int) Math.floorMod(tieBreaker, (long) count));
  }

  /** The leaf that a file is of. */
  int leafOf(int file) {
    return leafOf[file];
  }

  /**
   * A position, moved into the box of its leaf and stretched over it.
   *
   * @return floor((p - lower) * 2^bits / (upper - lower + 1)), in [0, 2^bits)
   */
  int stretched(int position, int leaf, int column) {
    int low = lower[leaf * columns + column];
    int high = upper[leaf * columns + column];
    int inside = Math.max(low, Math.min(high, position)) - low;
    return (int) (((long) inside << bits) / (high - low + 1));
  }
}
