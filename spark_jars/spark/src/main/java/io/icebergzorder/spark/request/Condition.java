package io.icebergzorder.spark.request;

import java.util.List;
import java.util.Objects;
import org.apache.iceberg.expressions.Expression;

/**
 * A condition on rows, as filters of queries have it.
 *
 * @param text as written
 * @param expression as Iceberg has it
 */
public record Condition(String text, Expression expression) {
  /**
   * Resolves conditions against a table.
   *
   * @param texts the conditions in Spark SQL
   * @throws IllegalArgumentException if one is null, cannot be read, names no column of the table, or is none that Iceberg has an
   *     expression for
   */
  public static List<Condition> of(CatalogTable target, List<String> texts) {
    if (texts.stream().anyMatch(Objects::isNull)) {
      throw new IllegalArgumentException(
          String.format("Cannot measure a predicate that is NULL on %s, because it says nothing", target.name()));
    }
    return texts.stream().map(text -> new Condition(text, ResolvedRequest.filter(target, text))).toList();
  }
}
