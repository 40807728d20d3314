package io.icebergzorder.spark.request;

import org.apache.iceberg.expressions.Expression;

/** A condition on rows, as filters of queries have it. */
public record Condition(String text, Expression expression) {}
