package io.icebergzorder.spark.queries;

import org.apache.iceberg.expressions.Expression;

/**
 * A condition on rows, as filters of queries have it.
 *
 * @param text as written
 * @param expression as Iceberg has it
 */
public record Condition(String text, Expression expression) {}
