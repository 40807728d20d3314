package io.icebergzorder.core;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Grows a tree again and again, as the driver of a rewrite does, and prints the tree and the CPU seconds of each time, in nanoseconds.
 * What is grown is read from the file of the first argument, as {@code benchmarks.growing} writes it: big-endian numbers.
 */
final class Growing {
  private Growing() {}

  public static void main(String[] arguments) throws IOException {
    int times = Integer.parseInt(arguments[1]);
    try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(Path.of(arguments[0])), 1 << 20))) {
      int bits = in.readInt();
      int files = in.readInt();
      double tolerance = in.readDouble();
      double share = in.readDouble();
      int[][] positions = table(in);
      QueryBoxes workload = new QueryBoxes(table(in), table(in), table(in)[0], weights(in));
      double[] even = new double[positions.length];
      Arrays.fill(even, 1.0);
      var clock = ManagementFactory.getThreadMXBean();
      BoxTree tree = null;
      for (int time = 0; time < times; time++) {
        long start = clock.getCurrentThreadCpuTime();
        tree = BoxTreeGrower.grow(positions, positions[0].length, bits, files, tolerance, even, 0, workload, share);
        System.out.println(clock.getCurrentThreadCpuTime() - start);
      }
      System.out.println(tree.nodes().stream().map(Growing::text).collect(Collectors.joining(" ")));
    }
  }

  private static String text(BoxTree.Node node) {
    return node instanceof BoxTree.Split split ? split.column() + ":" + split.start() : "" + ((BoxTree.Leaf) node).files();
  }

  private static int[][] table(DataInputStream in) throws IOException {
    int[][] found = new int[in.readInt()][in.readInt()];
    for (int[] row : found) {
      for (int place = 0; place < row.length; place++) {
        row[place] = in.readInt();
      }
    }
    return found;
  }

  private static double[] weights(DataInputStream in) throws IOException {
    double[] found = new double[in.readInt()];
    for (int place = 0; place < found.length; place++) {
      found[place] = in.readDouble();
    }
    return found;
  }
}
