package io.icebergzorder.core.metrics;

import io.icebergzorder.core.LayoutRequest;
import java.util.List;
import java.util.function.LongToIntFunction;

/**
 * The input of a report: files with bounds, snapshots, options. The arrays are kept, not copied: do not change them.
 *
 * @param metrics of each clustering column, its metrics mode
 * @param layout what a rewrite asks of a layout; the number of files is that of {@code sizes}
 * @param ofOldSpecs which files are of another partition spec than the current one
 * @param withDeletes to which files delete files apply
 * @param openCost what opening a file costs, in bytes
 * @param plannedFiles the data files that a rewrite would choose now
 */
public record TableFacts(
    BoundedFiles files,
    List<String> metrics,
    FileSizes sizes,
    LayoutRequest layout,
    boolean[] ofOldSpecs,
    boolean[] withDeletes,
    LayoutHistory history,
    long openCost,
    int plannedFiles) {
  /**
   * Which files a rewrite chooses for their size, in bytes, and into how many files it writes a partition of so many bytes.
   *
   * @param least the size of the smallest files that are left alone
   * @param most the size of the largest ones
   * @param minInputFiles so many files of a partition are rewritten whatever their bytes
   */
  public record FileSizes(long target, long least, long most, int minInputFiles, LongToIntFunction expectedFiles) {}
}
