package io.icebergzorder.core;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A box tree by trying every candidate with plain loops: slow, and the definition written down as it is said. */
final class NaiveGrower {
  private final List<int[]> rows;
  private final int columns;
  private final int leading;
  private final double[] weights;
  private final double mean;
  private final double least;
  private final double most;

  private record Found(double score, int column, int start, int share) {}

  /** Grows on one row or more; every row is its positions. */
  NaiveGrower(List<int[]> rows, int files, double tolerance, double[] weights, int leading) {
    this.rows = rows;
    this.columns = weights.length;
    this.leading = leading;
    this.weights = weights;
    this.mean = (double) rows.size() / files;
    this.least = (1.0 - tolerance) * mean;
    this.most = (1.0 + tolerance) * mean;
  }

  /** The nodes in preorder: of a split its column and start; of a leaf its files, and the edges of every column. */
  List<List<Integer>> nodes(List<int[]> inside, int files) {
    Found best = files > 1 ? best(inside, files) : null;
    if (best == null) {
      Stream<Integer> edges =
          IntStream.range(0, columns).boxed().flatMap(column -> Stream.of(low(inside, column), high(inside, column)));
      return List.of(Stream.concat(Stream.of(files), edges).toList());
    }
    List<List<Integer>> nodes = new ArrayList<>();
    nodes.add(List.of(best.column(), best.start()));
    nodes.addAll(nodes(inside.stream().filter(row -> row[best.column()] < best.start()).toList(), best.share()));
    nodes.addAll(
        nodes(inside.stream().filter(row -> row[best.column()] >= best.start()).toList(), files - best.share()));
    return nodes;
  }

  private Found best(List<int[]> inside, int files) {
    for (int column = 0; column < leading; column++) {
      if (low(inside, column) < high(inside, column)) {
        Found between = betweenValues(inside, files, column);
        if (between != null) {
          return between;
        }
        break;
      }
    }
    Found within = withinTolerance(inside, files);
    return within != null ? within : mostEven(inside, files);
  }

  private Found withinTolerance(List<int[]> inside, int files) {
    Found best = null;
    for (int column = leading; column < columns; column++) {
      List<int[]> ordered = ordered(inside, column);
      for (int sign = -1; sign <= 1; sign++) {
        int share = files / 2 + sign * Math.max(1, files / 4);
        for (int place : places(ordered, column, share, files)) {
          double left = place * cost(ordered.subList(0, place), share);
          double right = (ordered.size() - place) * cost(ordered.subList(place, ordered.size()), files - share);
          best = better(best, new Found(left + right, column, ordered.get(place)[column], share));
        }
      }
    }
    return best;
  }

  private List<Integer> places(List<int[]> ordered, int column, int share, int files) {
    if (share < 1 || share >= files) {
      return List.of();
    }
    double low = Math.max(share * least, ordered.size() - (files - share) * most);
    double high = Math.min(share * most, ordered.size() - (files - share) * least);
    List<Integer> allowed = runs(ordered, column).filter(place -> low <= place && place <= high).boxed().toList();
    if (allowed.size() <= 9) {
      return allowed;
    }
    return IntStream.rangeClosed(1, 9)
        .mapToObj(k -> nearest(allowed, low + (high - low) * k / 10.0))
        .sorted()
        .distinct()
        .toList();
  }

  private static int nearest(List<Integer> ascending, double target) {
    int nearest = ascending.get(0);
    for (int value : ascending) {
      nearest = Math.abs(value - target) < Math.abs(nearest - target) ? value : nearest;
    }
    return nearest;
  }

  private double cost(List<int[]> inside, int files) {
    double[] extents =
        IntStream.range(leading, columns).mapToDouble(column -> weights[column] * mass(inside, column)).toArray();
    double left = files;
    while (left >= 2) {
      extents[largest(extents)] /= 2;
      left /= 2;
    }
    extents[largest(extents)] /= left;
    double cost = 0;
    for (double extent : extents) {
      cost += extent;
    }
    return cost;
  }

  private long mass(List<int[]> inside, int column) {
    int low = low(inside, column);
    int high = high(inside, column);
    return rows.stream().filter(row -> low <= row[column] && row[column] <= high).count();
  }

  private static int largest(double[] values) {
    double largest = DoubleStream.of(values).max().orElseThrow();
    return IntStream.range(0, values.length).filter(i -> values[i] == largest).findFirst().orElseThrow();
  }

  private Found betweenValues(List<int[]> inside, int files, int column) {
    Found best = null;
    List<int[]> ordered = ordered(inside, column);
    for (int place : runs(ordered, column).toArray()) {
      int share = nearestShare(place, ordered.size(), files);
      int rest = files - share;
      boolean tolerated =
          share * least <= place
              && place <= share * most
              && rest * least <= ordered.size() - place
              && ordered.size() - place <= rest * most;
      if (tolerated) {
        double left = Math.abs((double) place / share - mean);
        double right = Math.abs((double) (ordered.size() - place) / rest - mean);
        // First by sixteenths of the mean, and then by how far from half the files.
        double score = Math.floor(Math.max(left, right) / mean * 16.0) * 1e6 + Math.abs(2 * share - files);
        best = better(best, new Found(score, column, ordered.get(place)[column], share));
      }
    }
    return best;
  }

  private Found mostEven(List<int[]> inside, int files) {
    Found best = null;
    for (int column = 0; column < columns; column++) {
      List<int[]> ordered = ordered(inside, column);
      for (int place : runs(ordered, column).toArray()) {
        int share = nearestShare(place, ordered.size(), files);
        double off = Math.abs(place * files - share * ordered.size());
        double score = off / Math.min(share, files - share);
        best = better(best, new Found(score, column, ordered.get(place)[column], share));
      }
    }
    return best;
  }

  private static int nearestShare(int place, int rows, int files) {
    return Math.min(files - 1, Math.max(1, (2 * files * place + rows) / (2 * rows)));
  }

  private static Found better(Found first, Found second) {
    return first == null || second.score() < first.score() ? second : first;
  }

  private static List<int[]> ordered(List<int[]> inside, int column) {
    return inside.stream().sorted((a, b) -> Integer.compare(a[column], b[column])).toList();
  }

  private static IntStream runs(List<int[]> ordered, int column) {
    return IntStream.range(1, ordered.size()).filter(i -> ordered.get(i)[column] != ordered.get(i - 1)[column]);
  }

  private static int low(List<int[]> inside, int column) {
    return inside.stream().mapToInt(row -> row[column]).min().orElseThrow();
  }

  private static int high(List<int[]> inside, int column) {
    return inside.stream().mapToInt(row -> row[column]).max().orElseThrow();
  }
}
