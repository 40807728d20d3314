package io.icebergzorder.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * What {@code sort_order} asks for: {@code zorder(a, b)} in any case, or the plain list {@code a, b},
 * which means the same.
 *
 * <p>A name is one or more of {@code A-Z a-z 0-9 _} and non-ASCII letters, or anything in backticks
 * with backticks doubled; fields of structs follow after a dot: {@code zorder(a, b.`zip code`)}. White space
 * (space, tab, line feed, form feed, carriage return) may stand between any two of these.
 *
 * @param curve the name of the curve, {@code zorder}
 * @param columns the clustering columns in order, one or more, each as its parts
 */
public record SortOrder(String curve, List<List<String>> columns) {
  private static final Set<String> CURVES_TO_COME = Set.of("hilbert");
  private static final Set<String> DIRECTIONS = Set.of("asc", "desc", "nulls");

  /** Takes copies of the lists. */
  public SortOrder {
    columns = columns.stream().map(List::copyOf).toList();
  }

  /**
   * Reads a sort order. Whether the columns exist, or one is named twice, only the schema can tell.
   *
   * @throws IllegalArgumentException if the text is not a sort order; the message names the position
   *     as a number of characters (code points) before it
   */
  public static SortOrder parse(String text) {
    return new Parser(text).sortOrder();
  }

  /** The parts of one name, as {@link ClusteringColumn#name} writes it. */
  static List<String> parseName(String name) {
    Parser parser = new Parser(name);
    List<String> parts = parser.column();
    parser.end();
    return parts;
  }

  /** A recursive descent over code points, so that positions count characters as Python does. */
  private static final class Parser {
    private final String text;
    private final int[] characters;
    private int next;

    Parser(String text) {
      this.text = text;
      this.characters = text.codePoints().toArray();
    }

    SortOrder sortOrder() {
      skipSpace();
      int start = next;
      String word = word();
      skipSpace();
      if (!word.isEmpty() && at('(')) {
        return curve(word.toLowerCase(Locale.ROOT), start);
      }
      next = start;
      List<List<String>> columns = columns();
      end();
      return new SortOrder(ZOrderCurve.NAME, columns);
    }

    private SortOrder curve(String word, int start) {
      if (CURVES_TO_COME.contains(word)) {
        throw refused(word + "(...) is not available in this version", start);
      }
      if (!word.equals(ZOrderCurve.NAME)) {
        throw refused("'" + word + "' is not a curve", start);
      }
      next++;
      List<List<String>> columns = columns();
      if (!at(')')) {
        throw unexpected("',' or ')'");
      }
      next++;
      skipSpace();
      if (at(',')) {
        throw refused("a column beside zorder(...) is not available in this version", next);
      }
      end();
      return new SortOrder(ZOrderCurve.NAME, columns);
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

    List<String> column() {
      List<String> parts = new ArrayList<>();
      parts.add(part());
      while (at('.')) {
        next++;
        parts.add(part());
      }
      int start = next;
      String direction = word();
      if (DIRECTIONS.contains(direction.toLowerCase(Locale.ROOT))) {
        throw refused("'" + direction + "' is not available in this version", start);
      }
      if (at('(')) {
        throw refused("a column beside zorder(...) is not available in this version", start);
      }
      next = start;
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
      return character < 128
          ? character == '_' || Character.isLetterOrDigit(character)
          : Character.isLetter(character);
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
      return new IllegalArgumentException(
          "Cannot parse sort_order '%s', because %s at position %d".formatted(text, what, position));
    }
  }
}
