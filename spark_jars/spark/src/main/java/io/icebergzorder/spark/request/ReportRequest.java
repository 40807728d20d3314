package io.icebergzorder.spark.request;

/**
 * What a report is asked for; what was not given is null.
 *
 * @param table name of the table, as written
 * @param columns clustering columns, for example {@code a, b}, or a sort order
 * @param where predicate that selects data files
 * @param branch branch to report on
 */
public record ReportRequest(String table, String columns, String where, String branch) {}
