package io.icebergzorder.core.metrics;

import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.metrics.ClusteringReport.Recommendation;
import java.util.List;

/**
 * The input of a report: files with bounds, snapshots, options. The arrays are kept, not copied: do not change them.
 *
 * @param metrics of each clustering column, its metrics mode
 * @param layout what a rewrite asks of a layout, but for the number of files
 * @param ofOldSpecs which files are of another partition spec than the current one
 * @param withDeletes to which files delete files apply
 * @param filesWithoutRows how many files have no row by their manifest entries
 * @param openCost what opening a file costs, in bytes
 * @param recommendation what a rewrite would do now
 * @param costs what a filter costs, as the plan of that rewrite says; null if it does not
 */
public record TableFacts(
    BoundedFiles files,
    List<String> metrics,
    FileSizes sizes,
    LayoutRequest layout,
    boolean[] ofOldSpecs,
    boolean[] withDeletes,
    int filesWithoutRows,
    LayoutHistory history,
    long openCost,
    Recommendation recommendation,
    Costs costs) {
  /** In bytes, today and after a rewrite of everything. */
  public record Costs(double today, double attainable) {}
}
