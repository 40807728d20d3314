package io.icebergzorder.spark.request;

import java.util.List;

/**
 * What a report is asked for; what was not given is null, or an empty list.
 *
 * @param table name of the table, as written
 * @param columns clustering columns, for example {@code a, b}, or a sort order
 * @param where predicate that selects data files
 * @param branch branch to report on
 * @param snapshotId one of the table's snapshots, else the branch's newest is reported on
 * @param predicates conditions whose scan fractions are reported, too
 * @param workload queries of which is told what they read, as JSON or where it lies; empty for none, else those that the table remembers
 * @param boxes whether what pictures show is reported, too
 */
public record ReportRequest(
    String table, String columns, String where, String branch, Long snapshotId, List<String> predicates, String workload, boolean boxes) {}
