package io.icebergzorder.core.metrics;

import java.util.Arrays;
import java.util.List;

/**
 * The data files of a snapshot, or some of them. The arrays are kept, not copied: do not change them.
 *
 * @param partitions the number of each file's partition, from 0; files of two partitions are never rewritten together
 * @param rows rows of each file, deleted ones included
 * @param sizes bytes of each file
 */
public record BoundedFiles(int[] partitions, long[] rows, long[] sizes, List<ColumnBounds> columns) {
  public BoundedFiles {
    columns = List.copyOf(columns);
  }

  public int count() {
    return sizes.length;
  }

  public long bytes() {
    return Arrays.stream(sizes).sum();
  }

  public long allRows() {
    return Arrays.stream(rows).sum();
  }

  public BoundedFiles take(int[] places) {
    return new BoundedFiles(
        Arrays.stream(places).map(place -> partitions[place]).toArray(),
        Arrays.stream(places).mapToLong(place -> rows[place]).toArray(),
        Arrays.stream(places).mapToLong(place -> sizes[place]).toArray(),
        columns.stream().map(bounds -> bounds.take(places)).toList());
  }

  /** The bytes of each partition, by its number. */
  public long[] partitionBytes() {
    return byPartition(sizes);
  }

  /** Adds up what files have, by the numbers of their partitions. */
  long[] byPartition(long[] ofFiles) {
    long[] sums = new long[Arrays.stream(partitions).max().orElse(-1) + 1];
    for (int file = 0; file < ofFiles.length; file++) {
      sums[partitions[file]] += ofFiles[file];
    }
    return sums;
  }

  /** The places of elements by a number that each has, in their order. */
  static int[][] placesByNumber(int[] numbers, int count) {
    int[] sizes = new int[count];
    for (int number : numbers) {
      sizes[number]++;
    }
    int[][] places = new int[count][];
    Arrays.setAll(places, number -> new int[sizes[number]]);
    int[] filled = new int[count];
    for (int place = 0; place < numbers.length; place++) {
      int number = numbers[place];
      places[number][filled[number]++] = place;
    }
    return places;
  }
}
