/**
 * What queries ask of a table: {@link io.icebergzorder.spark.queries.Condition} for a filter,
 * {@link io.icebergzorder.spark.queries.FileCondition} for the files that it rules out, and
 * {@link io.icebergzorder.spark.queries.Workload} for those that files are cut for.
 */
package io.icebergzorder.spark.queries;
