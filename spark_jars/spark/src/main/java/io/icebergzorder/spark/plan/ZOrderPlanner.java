package io.icebergzorder.spark.plan;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.util.PropertyUtil;

/**
 * Iceberg's choice of data files, with the {@code compression-factor} of its shuffling rewriters, and with a record of what
 * was looked at, so that an empty plan can be explained.
 *
 * <p>A partition is one file group, whatever its size: the files of groups that share a partition would overlap each other.
 * So {@code max-file-group-size-bytes} and {@code max-file-group-input-files} are checked, and then not applied.
 */
public final class ZOrderPlanner extends BinPackRewriteFilePlanner {
  /** Multiplies the input's size on disk before it is divided into output files; in (0, inf), 1.0 by default. */
  static final String COMPRESSION_FACTOR = "compression-factor";

  static final double COMPRESSION_FACTOR_DEFAULT = 1.0;

  private double compressionFactor = COMPRESSION_FACTOR_DEFAULT;
  private long targetFileSize;
  private long minFileSize;
  private long maxFileSize;
  private int minInputFiles;

  private int seenFiles;
  private int selectedFiles;

  public ZOrderPlanner(Table table, Expression filter, long snapshotId, boolean caseSensitive) {
    super(table, filter, snapshotId, caseSensitive);
  }

  @Override
  public Set<String> validOptions() {
    Set<String> options = new HashSet<>(super.validOptions());
    options.add(COMPRESSION_FACTOR);
    return options;
  }

  @Override
  public void init(Map<String, String> options) {
    super.init(options);
    Map<String, String> unlimited = new HashMap<>(options);
    unlimited.put(RewriteDataFiles.MAX_FILE_GROUP_SIZE_BYTES, String.valueOf(Long.MAX_VALUE));
    unlimited.put(MAX_FILE_GROUP_INPUT_FILES, String.valueOf(Long.MAX_VALUE));
    super.init(unlimited);
    compressionFactor = PropertyUtil.propertyAsDouble(options, COMPRESSION_FACTOR, COMPRESSION_FACTOR_DEFAULT);
    if (!(compressionFactor > 0)) {
      throw new IllegalArgumentException(
          String.format("'%s' is set to %s but must be > 0", COMPRESSION_FACTOR, compressionFactor));
    }
    targetFileSize = PropertyUtil.propertyAsLong(options, TARGET_FILE_SIZE_BYTES, defaultTargetFileSize());
    minFileSize =
        PropertyUtil.propertyAsLong(
            options, MIN_FILE_SIZE_BYTES, (long) (targetFileSize * MIN_FILE_SIZE_DEFAULT_RATIO));
    maxFileSize =
        PropertyUtil.propertyAsLong(
            options, MAX_FILE_SIZE_BYTES, (long) (targetFileSize * MAX_FILE_SIZE_DEFAULT_RATIO));
    minInputFiles = PropertyUtil.propertyAsInt(options, MIN_INPUT_FILES, MIN_INPUT_FILES_DEFAULT);
  }

  @Override
  protected int expectedOutputFiles(long inputSize) {
    return Math.max(1, super.expectedOutputFiles((long) (inputSize * compressionFactor)));
  }

  @Override
  protected Iterable<List<FileScanTask>> planFileGroups(Iterable<FileScanTask> tasks) {
    tasks.forEach(task -> seenFiles++);
    return super.planFileGroups(tasks);
  }

  @Override
  protected Iterable<FileScanTask> filterFiles(Iterable<FileScanTask> tasks) {
    List<FileScanTask> selected = new ArrayList<>();
    super.filterFiles(tasks).forEach(selected::add);
    selectedFiles += selected.size();
    return selected;
  }

  /** Data files that the filter leaves, whatever their size; known after {@link #plan()}. */
  public int seenFiles() {
    return seenFiles;
  }

  /** Says why a plan has no file group, and what would force one. */
  public String explainNothing() {
    String table = table().name();
    if (seenFiles == 0) {
      return String.format("Nothing to rewrite in %s: no data file can hold rows that match the filter.", table);
    }
    if (selectedFiles == 0) {
      return String.format(
          Locale.ROOT,
          "Nothing to rewrite in %s: its size is in order for each of %,d data files (between %s %,d and %s %,d, for a"
              + " target of %,d bytes), and none has deletes above %s or %s. To rewrite them anyway, set option %s to true.",
          table, seenFiles, MIN_FILE_SIZE_BYTES, minFileSize, MAX_FILE_SIZE_BYTES, maxFileSize, targetFileSize,
          DELETE_FILE_THRESHOLD, DELETE_RATIO_THRESHOLD, REWRITE_ALL);
    }
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: %,d of %,d data files are outside %s %,d to %s %,d, but no file group of them has %s %,d"
            + " files or more than %s %,d of data. To rewrite them anyway, set option %s to true, or lower %s or %s.",
        table, selectedFiles, seenFiles, MIN_FILE_SIZE_BYTES, minFileSize, MAX_FILE_SIZE_BYTES, maxFileSize,
        MIN_INPUT_FILES, minInputFiles, TARGET_FILE_SIZE_BYTES, targetFileSize, REWRITE_ALL, MIN_INPUT_FILES,
        TARGET_FILE_SIZE_BYTES);
  }
}
