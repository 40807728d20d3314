package io.icebergzorder.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The boxes of queries that count, as numbers of sampled rows below; equal boxes are merged.
 *
 * <p>A value that only one query asks for says little about the next query's value, so it counts as drawn from the rows.
 *
 * @param low by active column and box, the sampled rows below the first position of the box
 * @param high the sampled rows below the first position after the box
 * @param isDrawn whether the box's value in the column counts as drawn from the rows
 * @param starts the first position of the box
 * @param ends the first position after the box
 */
record WantedBoxes(int[][] low, int[][] high, boolean[][] isDrawn, int[][] starts, int[][] ends, double[] weights) {
  /** Returns the boxes with some sampled rows, but not all of them by the clustering columns. */
  static WantedBoxes of(int[][] below, QueryBoxes boxes, int rows, int leading) {
    int columns = below.length;
    int[] counts = new int[boxes.weights().length];
    for (int query : boxes.query()) {
      counts[query]++;
    }
    double[] weights = new double[boxes.boxes()];
    int[][] low = new int[columns][boxes.boxes()];
    int[][] high = new int[columns][boxes.boxes()];
    int[][] ends = new int[columns][boxes.boxes()];
    boolean[] isKept = new boolean[boxes.boxes()];
    for (int box = 0; box < weights.length; box++) {
      weights[box] = boxes.weights()[boxes.query()[box]] / counts[boxes.query()[box]];
      boolean isSome = true;
      boolean isAll = true;
      for (int column = 0; column < columns; column++) {
        ends[column][box] = Math.max(boxes.lower()[column][box], boxes.upper()[column][box] + 1);
        low[column][box] = below[column][boxes.lower()[column][box]];
        high[column][box] = below[column][ends[column][box]];
        isSome &= low[column][box] < high[column][box];
        isAll &= column < leading || (low[column][box] == 0 && high[column][box] == rows);
      }
      isKept[box] = isSome && !isAll && weights[box] > 0;
    }
    int[] kept = IntStream.range(0, weights.length).filter(box -> isKept[box]).toArray();
    boolean[][] isDrawn = new boolean[columns][boxes.boxes()];
    for (int column = leading; column < columns; column++) {
      for (int box : drawn(boxes, kept, column)) {
        isDrawn[column][box] = true;
        low[column][box] = 0;
        high[column][box] = rows;
      }
    }
    return new WantedBoxes(low, high, isDrawn, boxes.lower(), ends, weights).merged(kept);
  }

  /** The boxes of a position that no other query asks for, of queries less than twice as frequent as the rarest. */
  private static int[] drawn(QueryBoxes boxes, int[] kept, int column) {
    double least = Arrays.stream(kept).mapToDouble(box -> boxes.weights()[boxes.query()[box]]).min().orElse(0);
    int[] lower = boxes.lower()[column];
    int[] upper = boxes.upper()[column];
    int[] single = Arrays.stream(kept).filter(box -> lower[box] == upper[box]).toArray();
    // By position its query, or -1 for several.
    Map<Integer, Integer> queries = new HashMap<>();
    for (int box : single) {
      queries.merge(lower[box], boxes.query()[box], (one, other) -> one.equals(other) ? one : -1);
    }
    return Arrays.stream(single).filter(box -> queries.get(lower[box]) >= 0 && boxes.weights()[boxes.query()[box]] < 2.0 * least).toArray();
  }

  /** Merges equal boxes, in order of first appearance, and adds their weights in order. */
  private WantedBoxes merged(int[] kept) {
    Map<List<Integer>, Integer> places = new LinkedHashMap<>();
    int[] first = new int[kept.length];
    double[] sums = new double[kept.length];
    for (int box : kept) {
      List<Integer> what = new ArrayList<>();
      for (int column = 0; column < low.length; column++) {
        what.addAll(List.of(low[column][box], high[column][box], isDrawn[column][box] ? 1 : 0));
      }
      int place = places.computeIfAbsent(what, key -> places.size());
      if (sums[place] == 0) {
        first[place] = box;
      }
      sums[place] += weights[box];
    }
    return only(Arrays.copyOf(first, places.size())).weighing(Arrays.copyOf(sums, places.size()));
  }

  int count() {
    return weights.length;
  }

  WantedBoxes weighing(double[] others) {
    return new WantedBoxes(low, high, isDrawn, starts, ends, others);
  }

  WantedBoxes only(int[] boxes) {
    boolean[][] drawn = new boolean[low.length][boxes.length];
    for (int column = 0; column < drawn.length; column++) {
      for (int i = 0; i < boxes.length; i++) {
        drawn[column][i] = isDrawn[column][boxes[i]];
      }
    }
    double[] ofBoxes = Arrays.stream(boxes).mapToDouble(box -> weights[box]).toArray();
    return new WantedBoxes(taken(low, boxes), taken(high, boxes), drawn, taken(starts, boxes), taken(ends, boxes), ofBoxes);
  }

  private static int[][] taken(int[][] columns, int[] boxes) {
    return Arrays.stream(columns).map(column -> Arrays.stream(boxes).map(box -> column[box]).toArray()).toArray(int[][]::new);
  }
}
