package io.icebergzorder.spark.queries;

import org.apache.iceberg.expressions.Expression;

/** A condition on rows, as filters of queries have it. */
public record Condition(String text, Expression expression) {}
