package io.icebergzorder.core;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;

/** The definitions written down as they are said: slow, and obviously right. */
final class Naive {
  private Naive() {}

  /** A row as something comparable: 0 and its key, 1 for NaN, 2 for NULL. */
  record Thing(int state, BigInteger number, List<Integer> bytes) implements Comparable<Thing> {
    static Thing of(KeyColumn column, int row) {
      int state = column.state(row);
      if (state != KeyColumn.VALUE) {
        return new Thing(state, BigInteger.ZERO, List.of());
      }
      if (column.domain() == KeyDomain.LONG) {
        return new Thing(state, BigInteger.valueOf(column.longKey(row)), List.of());
      }
      return of(column.bytesKey(row));
    }

    static Thing of(byte[] key) {
      List<Integer> bytes = IntStream.range(0, key.length).mapToObj(i -> key[i] & 0xff).toList();
      return new Thing(KeyColumn.VALUE, BigInteger.ZERO, bytes);
    }

    static Thing of(long key) {
      return new Thing(KeyColumn.VALUE, BigInteger.valueOf(key), List.of());
    }

    @Override
    public int compareTo(Thing other) {
      if (state != other.state) {
        return Integer.compare(state, other.state);
      }
      if (!number.equals(other.number)) {
        return number.compareTo(other.number);
      }
      for (int i = 0; i < Math.min(bytes.size(), other.bytes.size()); i++) {
        if (!bytes.get(i).equals(other.bytes.get(i))) {
          return bytes.get(i).compareTo(other.bytes.get(i));
        }
      }
      return Integer.compare(bytes.size(), other.bytes.size());
    }
  }

  static List<Thing> things(KeyColumn column) {
    return IntStream.range(0, column.size()).mapToObj(row -> Thing.of(column, row)).toList();
  }

  static List<Thing> boundaries(KeyColumn column, int max) {
    List<Thing> sorted = things(column).stream().filter(t -> t.state() == 0).sorted().toList();
    TreeMap<Thing, Integer> counts = new TreeMap<>();
    sorted.forEach(key -> counts.merge(key, 1, Integer::sum));
    int rows = sorted.size();
    if (counts.isEmpty()) {
      return List.of();
    }
    TreeSet<Thing> boundaries = new TreeSet<>();
    if (counts.size() <= max) {
      boundaries.addAll(counts.keySet());
      boundaries.remove(sorted.get(0));
      return List.copyOf(boundaries);
    }
    counts.forEach(
        (key, count) -> {
          if ((long) count * max >= rows) {
            boundaries.add(key);
            Thing next = counts.higherKey(key);
            if (next != null) {
              boundaries.add(next);
            }
          }
        });
    boundaries.remove(sorted.get(0));
    int ranks = Math.max(0, max - boundaries.size());
    for (int i = 1; i <= ranks; i++) {
      boundaries.add(sorted.get(Math.floorDiv(i * rows, ranks + 1)));
    }
    boundaries.remove(sorted.get(0));
    return List.copyOf(boundaries);
  }

  static int bucket(List<Thing> boundaries, Thing thing) {
    if (thing.state() != 0) {
      return boundaries.size() + thing.state();
    }
    return (int) boundaries.stream().filter(b -> b.compareTo(thing) <= 0).count();
  }

  static int[] positions(List<Thing> boundaries, List<Thing> sample, int bits) {
    int[] buckets = sample.stream().mapToInt(thing -> bucket(boundaries, thing)).toArray();
    return IntStream.range(0, boundaries.size() + 3)
        .map(
            bucket -> {
              long below = Arrays.stream(buckets).filter(other -> other < bucket).count();
              BigInteger scaled =
                  BigInteger.TWO
                      .pow(bits)
                      .multiply(BigInteger.valueOf(below))
                      .divide(BigInteger.valueOf(sample.size()));
              return scaled.min(BigInteger.TWO.pow(bits).subtract(BigInteger.ONE)).intValue();
            })
        .toArray();
  }

  static long index(int[] positions, int bits) {
    StringBuilder binary = new StringBuilder("0");
    for (int bit = bits - 1; bit >= 0; bit--) {
      for (int position : positions) {
        binary.append(position >> bit & 1);
      }
    }
    return Long.parseLong(binary.toString(), 2);
  }

  static long[] starts(long[] sorted, int files) {
    List<Long> starts = new ArrayList<>();
    int rows = sorted.length;
    for (int i = 1; rows > 0 && i < files; i++) {
      int rank = i * rows / files;
      long value = sorted[rank];
      int low = (int) Arrays.stream(sorted).filter(s -> s < value).count();
      int high = (int) Arrays.stream(sorted).filter(s -> s <= value).count();
      Long candidate = high < rows ? sorted[high] : null;
      if (low > 0 && (high == rows || rank - low <= high - rank)) {
        candidate = value;
      }
      if (candidate != null && (starts.isEmpty() || candidate > starts.get(starts.size() - 1))) {
        starts.add(candidate);
      }
    }
    return starts.stream().mapToLong(Long::longValue).toArray();
  }

  static boolean isActive(KeyColumn column) {
    return new HashSet<>(things(column)).size() >= 2;
  }
}
