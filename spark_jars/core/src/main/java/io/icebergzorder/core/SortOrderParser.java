package io.icebergzorder.core;

import io.icebergzorder.core.Curve.HilbertCurve;
import io.icebergzorder.core.SortOrder.PrefixColumn;
import io.icebergzorder.core.SortOrder.PrefixOrder;
import io.icebergzorder.core.ZOrderOptions.ColumnWeight;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A recursive descent over code points, so that positions count characters as Python does. */
final class SortOrderParser {
  private static final Set<String> CURVES = Arrays.stream(Curve.values()).map(Curve::label).collect(Collectors.toUnmodifiableSet());
  private static final Pattern NUMBER = Pattern.compile("[0-9]+(\\.[0-9]+)?");
  private static final int MAX_WEIGHT = 1_000_000;

  private final String text;
  private final String action;
  private final int[] characters;
  private int next;

  /** Reads a text; {@code action} is what messages say cannot be done. */
  SortOrderParser(String text, String action) {
    this.text = text;
    this.action = action;
    this.characters = text.codePoints().toArray();
  }

  SortOrder sortOrder() {
    List<PrefixColumn> prefix = new ArrayList<>();
    int firstDirection = -1;
    String direction = "";
    String curve;
    while ((curve = curve()) == null) {
      List<String> parts = column();
      int start = next;
      prefix.add(directed(parts));
      if (next > start && firstDirection < 0) {
        firstDirection = start;
        direction = new String(characters, start, next - start).strip();
      }
      if (!at(',')) {
        end();
        if (firstDirection >= 0) {
          throw refused("'" + direction + "' needs zorder(...) or hilbert(...) after it", firstDirection);
        }
        return new SortOrder(Curve.ZORDER, prefix.stream().map(PrefixColumn::parts).toList(), List.of());
      }
      next++;
    }
    return onCurve(Curve.of(curve), prefix);
  }

  /** The columns of a curve whose name and opening parenthesis have been read, and the end. */
  private SortOrder onCurve(Curve curve, List<PrefixColumn> prefix) {
    List<List<String>> columns = columns();
    if (!at(')')) {
      throw unexpected("',' or ')'");
    }
    next++;
    skipSpace();
    if (at(',')) {
      throw refused("no column can follow " + curve.label() + "(...)", next);
    }
    end();
    if (curve == Curve.HILBERT && columns.size() > HilbertCurve.MAX_COLUMNS) {
      throw refused("hilbert(...) has room for %d columns and has %d".formatted(HilbertCurve.MAX_COLUMNS, columns.size()), next);
    }
    return new SortOrder(curve, columns, prefix);
  }

  /** The name of a curve with its opening parenthesis, or nothing if a column stands here. */
  private String curve() {
    skipSpace();
    int start = next;
    String word = word();
    skipSpace();
    if (word.isEmpty() || !at('(')) {
      next = start;
      return null;
    }
    String lower = word.toLowerCase(Locale.ROOT);
    if (!CURVES.contains(lower)) {
      throw refused("'" + word + "' is not a curve", start);
    }
    next++;
    return lower;
  }

  private PrefixColumn directed(List<String> parts) {
    boolean descending = "desc".equals(keyword("asc", "desc"));
    boolean nullsFirst = !descending;
    if (keyword("nulls") != null) {
      String where = keyword("first", "last");
      if (where == null) {
        throw unexpected("FIRST or LAST");
      }
      nullsFirst = where.equals("first");
    }
    return new PrefixColumn(parts, new PrefixOrder(descending, nullsFirst));
  }

  /** One of some words, with the white space after it, or nothing. */
  private String keyword(String... words) {
    int start = next;
    String word = word().toLowerCase(Locale.ROOT);
    if (List.of(words).contains(word)) {
      skipSpace();
      return word;
    }
    next = start;
    return null;
  }

  List<ColumnWeight> columnWeights() {
    List<ColumnWeight> weights = new ArrayList<>();
    while (true) {
      List<String> parts = column();
      if (!at('=')) {
        throw unexpected("'='");
      }
      next++;
      weights.add(new ColumnWeight(parts, weight()));
      if (!at(',')) {
        end();
        return weights;
      }
      next++;
    }
  }

  private double weight() {
    skipSpace();
    Matcher number = NUMBER.matcher(new String(characters, next, characters.length - next));
    double weight = number.lookingAt() ? Double.parseDouble(number.group()) : 0;
    if (!(weight > 0 && weight <= MAX_WEIGHT)) {
      throw refused("a number in (0, %d] is expected".formatted(MAX_WEIGHT), next);
    }
    next += number.end();
    skipSpace();
    return weight;
  }

  private List<List<String>> columns() {
    List<List<String>> columns = new ArrayList<>();
    columns.add(column());
    while (at(',')) {
      next++;
      columns.add(column());
    }
    return columns;
  }

  /** One name, with its parts. */
  List<String> column() {
    List<String> parts = new ArrayList<>();
    parts.add(part());
    while (at('.')) {
      next++;
      parts.add(part());
    }
    return parts;
  }

  void end() {
    if (next < characters.length) {
      throw unexpected("',' or the end");
    }
  }

  /** One name, with the white space around it. */
  private String part() {
    skipSpace();
    String part = at('`') ? quoted() : word();
    if (part.isEmpty()) {
      throw unexpected("a column");
    }
    skipSpace();
    return part;
  }

  private String quoted() {
    int start = next++;
    StringBuilder part = new StringBuilder();
    while (next < characters.length) {
      int character = characters[next++];
      if (character != '`') {
        part.appendCodePoint(character);
      } else if (at('`')) {
        part.append('`');
        next++;
      } else {
        return part.toString();
      }
    }
    throw refused("a backtick is not closed", start);
  }

  private String word() {
    int start = next;
    while (next < characters.length && isNameCharacter(characters[next])) {
      next++;
    }
    return new String(characters, start, next - start);
  }

  private static boolean isNameCharacter(int character) {
    return character < 128 ? character == '_' || Character.isLetterOrDigit(character) : Character.isLetter(character);
  }

  private void skipSpace() {
    while (next < characters.length && " \t\n\f\r".indexOf(characters[next]) >= 0) {
      next++;
    }
  }

  private boolean at(char character) {
    return next < characters.length && characters[next] == character;
  }

  private IllegalArgumentException unexpected(String expected) {
    String found = next < characters.length ? "'" + Character.toString(characters[next]) + "'" : "the end";
    return refused("%s is expected and %s is found".formatted(expected, found), next);
  }

  private IllegalArgumentException refused(String what, int position) {
    return new IllegalArgumentException("Cannot %s '%s', because %s at position %d".formatted(action, text, what, position));
  }
}
