package io.icebergzorder.spark.spec;

import org.apache.iceberg.expressions.Expression;

/** A condition on rows: the filter of a query, parsed. */
public record Condition(String text, Expression expression) {}
