package io.icebergzorder.core;

import io.icebergzorder.core.Keys.KeyDomain;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A column named in {@code zorder(...)}.
 *
 * @param parts the names on the way from the table to the field, outermost first
 * @param type the type as Iceberg's {@code Type.toString()} writes it
 */
public record ClusteringColumn(List<String> parts, String type) {
  private static final Pattern PLAIN_NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

  /** Refuses types whose values have no {@link Keys keys}. */
  public ClusteringColumn {
    parts = List.copyOf(parts);
    if (Keys.find(type).isEmpty()) {
      throw new IllegalArgumentException(
          "Cannot cluster by column '%s' of type '%s', because %s"
              .formatted(quoted(parts), type, Keys.NO_ORDER));
    }
  }

  /** The parts joined by dots, in backticks where a part is not a plain word: {@code address.`zip code`}. */
  public String name() {
    return quoted(parts);
  }

  public KeyDomain domain() {
    return Keys.domain(type);
  }

  /** Joins the parts of any name, quoted as {@link #name} says. */
  public static String quoted(List<String> parts) {
    return parts.stream().map(p -> PLAIN_NAME.matcher(p).matches() ? p : "`" + p.replace("`", "``") + "`").collect(Collectors.joining("."));
  }

  /** Puts a text in quotes, as Spark SQL reads it back unless {@code spark.sql.parser.escapedStringLiterals} is set. */
  public static String quotedText(String text) {
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{") + "'";
  }
}
