package io.icebergzorder.core.report;

import io.icebergzorder.core.LayoutRequest;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongToIntFunction;
import java.util.stream.LongStream;

/**
 * What a report is computed from. The arrays are kept, not copied: do not change them.
 *
 * @param table the table's name
 * @param sqlName the same as SQL writes it
 * @param branch the branch
 * @param snapshotId the snapshot; null of a table that has none
 * @param where the filter that leaves the data files, or null
 * @param sortOrder what the report is by, as a rewrite takes it
 * @param files the data files
 * @param partitionNames of each partition, by its number; empty where the table has none
 * @param metrics of each clustering column, its metrics mode
 * @param sizes what sizes are right
 * @param layout what a rewrite asks of a layout; the number of files is that of {@code sizes}
 * @param ofOldSpecs which files are of another partition spec than the current one
 * @param withDeletes to which files delete files apply
 * @param positionDeleteFiles position delete files that apply to the data files, deletion vectors included
 * @param equalityDeleteFiles equality delete files that do
 * @param history what the snapshots tell
 * @param rewriteCommand from options to the command that rewrites the table by these columns
 * @param predicates what else is looked for
 */
public record TableFacts(
    String table,
    String sqlName,
    String branch,
    Long snapshotId,
    String where,
    String sortOrder,
    DataFiles files,
    List<String> partitionNames,
    List<String> metrics,
    FileSizes sizes,
    LayoutRequest layout,
    boolean[] ofOldSpecs,
    boolean[] withDeletes,
    int positionDeleteFiles,
    int equalityDeleteFiles,
    LayoutHistory history,
    Function<Map<String, String>, String> rewriteCommand,
    List<PredicateFacts> predicates) {
  /**
   * Which files a rewrite chooses for their size, in bytes, and into how many files it writes a partition of so many bytes.
   *
   * @param target the size of new files
   * @param least the size of the smallest files that are left alone
   * @param most the size of the largest ones
   * @param minInputFiles so many files of a partition are rewritten whatever their bytes
   * @param expectedFiles from the bytes of a partition to the number of its files
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

  /**
   * A condition on rows, as filters of queries have it.
   *
   * @param text as it was written
   * @param read which data files the metadata does not rule out
   * @param reads from data files that do not exist yet to the same for these
   */
  public record PredicateFacts(String text, boolean[] read, Function<DataFiles, boolean[]> reads) {}
}
