package io.icebergzorder.spark.plan;

/**
 * What a rewrite would do, without doing it.
 *
 * @param dataFiles data files that the filter leaves
 * @param selectedDataFiles of these, the files to be rewritten
 * @param fileGroups file groups they are in
 * @param expectedDataFiles files that the rewrite is expected to write
 * @param reason why nothing is selected and what would force it, or null
 */
public record PlanSummary(
    int dataFiles, int selectedDataFiles, int fileGroups, int expectedDataFiles, String reason) {}
