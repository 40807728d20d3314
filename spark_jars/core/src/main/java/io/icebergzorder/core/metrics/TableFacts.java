package io.icebergzorder.core.metrics;

import io.icebergzorder.core.LayoutRequest;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongToIntFunction;
import java.util.stream.LongStream;

/**
 * The input of a report: files with bounds, snapshots, options. The arrays are kept, not copied: do not change them.
 *
 * @param metrics of each clustering column, its metrics mode
 * @param layout what a rewrite asks of a layout; the number of files is that of {@code sizes}
 * @param ofOldSpecs which files are of another partition spec than the current one
 * @param withDeletes to which files delete files apply
 */
public record TableFacts(
    BoundedFiles files,
    List<String> metrics,
    FileSizes sizes,
    LayoutRequest layout,
    boolean[] ofOldSpecs,
    boolean[] withDeletes,
    LayoutHistory history) {
  /**
   * Which files a rewrite chooses for their size, in bytes, and into how many files it writes a partition of so many bytes.
   *
   * @param least the size of the smallest files that are left alone
   * @param most the size of the largest ones
   * @param minInputFiles so many files of a partition are rewritten whatever their bytes
   */
  public record FileSizes(long target, long least, long most, int minInputFiles, LongToIntFunction expectedFiles) {
    /** How many files a rewrite chooses for their size, of those that are to be rewritten together. */
    int badlySized(LongStream together) {
      long[] outside = together.filter(size -> size < least || size > most).toArray();
      long bytes = Arrays.stream(outside).sum();
      boolean areEnough = outside.length > 1 && (outside.length >= minInputFiles || bytes > target);
      return areEnough || bytes > most ? outside.length : 0;
    }
  }
}
