package io.icebergzorder.core.workload;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A box over keys: a range of keys for some columns. A row is in the box if each of its keys is in its range.
 *
 * @param ranges the non-empty range of each limited column, sorted by name
 */
public record KeyBox(Map<List<String>, KeyRange> ranges) {
  /** As Python sorts texts, and tuples of them. */
  private static final Comparator<List<String>> BY_NAME =
      (one, other) -> compare(one, other, Comparator.comparing(text -> text.getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned));

  private static final Comparator<KeyRange> BY_EDGES = Comparator.comparing(KeyRange::start).thenComparing(KeyRange::stop);

  /** The order of boxes: by the names of their columns, then by their ranges. */
  public static final Comparator<KeyBox> ORDER =
      Comparator.<KeyBox, List<List<String>>>comparing(
              box -> List.copyOf(box.ranges.keySet()), (one, other) -> compare(one, other, BY_NAME))
          .thenComparing(box -> List.copyOf(box.ranges.values()), (one, other) -> compare(one, other, BY_EDGES));

  /** The order of lists of boxes, the first difference of which decides. */
  public static final Comparator<List<KeyBox>> ORDER_OF_LISTS = (one, other) -> compare(one, other, ORDER);

  /** The box that holds every row. */
  public static final KeyBox EVERYTHING = new KeyBox(Map.of());

  /** Leaves out unlimited ranges. */
  public KeyBox {
    Map<List<String>, KeyRange> limited = new TreeMap<>(BY_NAME);
    ranges.forEach(
        (name, range) -> {
          if (!range.equals(KeyRange.EVERYTHING)) {
            limited.put(List.copyOf(name), range);
          }
        });
    ranges = Collections.unmodifiableMap(limited);
  }

  public static KeyBox of(List<String> name, KeyRange range) {
    return new KeyBox(Map.of(name, range));
  }

  public KeyRange range(List<String> name) {
    return ranges.getOrDefault(name, KeyRange.EVERYTHING);
  }

  /** The intersection; empty if it holds nothing. */
  public Optional<KeyBox> met(KeyBox other) {
    Map<List<String>, KeyRange> found = new HashMap<>(ranges);
    other.ranges.forEach((name, range) -> found.merge(name, range, KeyRange::met));
    return found.values().stream().anyMatch(KeyRange::isEmpty) ? Optional.empty() : Optional.of(new KeyBox(found));
  }

  /** The narrowest box that holds both. */
  public KeyBox hull(KeyBox other) {
    Map<List<String>, KeyRange> found = new HashMap<>();
    ranges.forEach(
        (name, range) -> {
          if (other.ranges.containsKey(name)) {
            found.put(name, range.hull(other.ranges.get(name)));
          }
        });
    return new KeyBox(found);
  }

  /** Returns at most {@code most} boxes that cover the given ones, by joining neighbours. */
  public static List<KeyBox> cover(Collection<KeyBox> boxes, int most) {
    TreeSet<KeyBox> ordered = new TreeSet<>(ORDER);
    ordered.addAll(boxes);
    List<KeyBox> distinct = new ArrayList<>(ordered);
    if (distinct.size() <= most) {
      return List.copyOf(distinct);
    }
    LinkedHashSet<KeyBox> joined = new LinkedHashSet<>();
    for (int number = 0; number < most; number++) {
      int start = (int) ((long) number * distinct.size() / most);
      int stop = (int) ((number + 1L) * distinct.size() / most);
      joined.add(distinct.subList(start, stop).stream().reduce(KeyBox::hull).orElseThrow());
    }
    return List.copyOf(joined);
  }

  /** Compares lists lexicographically; a prefix comes first. */
  private static <T> int compare(List<T> one, List<T> other, Comparator<? super T> by) {
    Iterator<T> others = other.iterator();
    for (T each : one) {
      int compared = others.hasNext() ? by.compare(each, others.next()) : 1;
      if (compared != 0) {
        return compared;
      }
    }
    return others.hasNext() ? -1 : 0;
  }
}
