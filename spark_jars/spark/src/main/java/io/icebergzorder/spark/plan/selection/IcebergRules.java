package io.icebergzorder.spark.plan.selection;

import io.icebergzorder.spark.request.RewriteOptions;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.RewriteJobOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.util.PropertyUtil;

/**
 * The rules of Iceberg's own planner, with the {@code compression-factor} of its shuffling rewriters: which data files are of a wrong
 * size or have too many deletes, which groups of them are worth a rewrite, and how many files of which size come of a group.
 *
 * <p>It plans nothing itself: Iceberg's planner divides a partition by {@code max-file-group-size-bytes} and
 * {@code max-file-group-input-files} wherever a group is full, and the files of groups that share a partition would overlap each other.
 * {@link GroupBound} applies the former, the latter is checked, and not applied.
 */
public final class IcebergRules extends BinPackRewriteFilePlanner {
  private Map<String, String> options;
  private double maxScanRatio;
  private long minAgeSeconds;
  private boolean rewriteOldSpecs;
  private double compressionFactor = RewriteOptions.COMPRESSION_FACTOR_DEFAULT;
  private long targetFileSize;
  private long minFileSize;
  private long maxFileSize;
  private int minInputFiles;
  private boolean rewriteAll;
  private int maxFilesToRewrite;
  private RewriteJobOrder jobOrder;

  /**
   * Takes the options.
   *
   * @throws IllegalArgumentException if Iceberg refuses one
   */
  public IcebergRules(Table table, Map<String, String> options) {
    super(table);
    try {
      init(options);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          String.format("Cannot rewrite data files of %s, because %s", table.name(), e.getMessage()), e);
    }
  }

  @Override
  public Set<String> validOptions() {
    Set<String> options = new HashSet<>(super.validOptions());
    options.add(RewriteOptions.COMPRESSION_FACTOR);
    options.add(RewriteOptions.MAX_SCAN_RATIO);
    options.add(RewriteOptions.MIN_AGE_SECONDS);
    options.add(RewriteOptions.REWRITE_OLD_SPECS);
    return options;
  }

  @Override
  public void init(Map<String, String> options) {
    super.init(options);
    this.options = options;
    compressionFactor =
        PropertyUtil.propertyAsDouble(
            options, RewriteOptions.COMPRESSION_FACTOR, RewriteOptions.COMPRESSION_FACTOR_DEFAULT);
    if (!(compressionFactor > 0)) {
      throw new IllegalArgumentException(
          String.format("'%s' is set to %s but must be > 0", RewriteOptions.COMPRESSION_FACTOR, compressionFactor));
    }
    maxScanRatio =
        PropertyUtil.propertyAsDouble(options, RewriteOptions.MAX_SCAN_RATIO, RewriteOptions.MAX_SCAN_RATIO_DEFAULT);
    if (!(maxScanRatio >= 1)) {
      throw new IllegalArgumentException(
          String.format("'%s' is set to %s but must be >= 1", RewriteOptions.MAX_SCAN_RATIO, maxScanRatio));
    }
    minAgeSeconds = PropertyUtil.propertyAsLong(options, RewriteOptions.MIN_AGE_SECONDS, 0);
    if (minAgeSeconds < 0) {
      throw new IllegalArgumentException(
          String.format("'%s' is set to %s but must be >= 0", RewriteOptions.MIN_AGE_SECONDS, minAgeSeconds));
    }
    rewriteOldSpecs = PropertyUtil.propertyAsBoolean(options, RewriteOptions.REWRITE_OLD_SPECS, false);
    targetFileSize = PropertyUtil.propertyAsLong(options, TARGET_FILE_SIZE_BYTES, defaultTargetFileSize());
    minFileSize =
        PropertyUtil.propertyAsLong(
            options, MIN_FILE_SIZE_BYTES, (long) (targetFileSize * MIN_FILE_SIZE_DEFAULT_RATIO));
    maxFileSize =
        PropertyUtil.propertyAsLong(
            options, MAX_FILE_SIZE_BYTES, (long) (targetFileSize * MAX_FILE_SIZE_DEFAULT_RATIO));
    minInputFiles = PropertyUtil.propertyAsInt(options, MIN_INPUT_FILES, MIN_INPUT_FILES_DEFAULT);
    rewriteAll = PropertyUtil.propertyAsBoolean(options, REWRITE_ALL, REWRITE_ALL_DEFAULT);
    maxFilesToRewrite = PropertyUtil.propertyAsInt(options, MAX_FILES_TO_REWRITE, Integer.MAX_VALUE);
    jobOrder =
        RewriteJobOrder.fromName(
            PropertyUtil.propertyAsString(
                options, RewriteDataFiles.REWRITE_JOB_ORDER, RewriteDataFiles.REWRITE_JOB_ORDER_DEFAULT));
  }

  /** Into how many files so many bytes are written, at least 1. */
  @Override
  public int expectedOutputFiles(long inputSize) {
    return Math.max(1, super.expectedOutputFiles((long) (inputSize * compressionFactor)));
  }

  /**
   * Into how many files a small part of a partition is written that is rewritten for what it gains. They have two thirds of the target, or
   * the smallest size that a user has set, where that is more.
   */
  public int finerOutputFiles(long inputSize) {
    long set = options.containsKey(MIN_FILE_SIZE_BYTES) ? minFileSize : 1;
    long least = Math.max(Math.max(2 * targetFileSize / 3, set), 1);
    return Math.max(expectedOutputFiles(inputSize), (int) ((long) (inputSize * compressionFactor) / least));
  }

  /** The data files of a wrong size, with too many deletes, or of a partition spec that is not to stay. */
  public List<FileScanTask> worthRewriting(List<FileScanTask> files) {
    Set<FileScanTask> found = new HashSet<>();
    filterFiles(files).forEach(found::add);
    return files.stream().filter(file -> found.contains(file) || isOfOldSpec(file)).toList();
  }

  /** The same rules, by which no file is of a wrong size. */
  public IcebergRules ofAnySize() {
    Map<String, String> ofAnySize = new HashMap<>(options);
    ofAnySize.put(MIN_FILE_SIZE_BYTES, "0");
    ofAnySize.put(MAX_FILE_SIZE_BYTES, String.valueOf(Long.MAX_VALUE));
    ofAnySize.put(REWRITE_ALL, "false");
    return new IcebergRules(table(), ofAnySize);
  }

  /** Whether such files of one partition are enough for a rewrite. */
  boolean areEnough(List<FileScanTask> files) {
    return files.stream().anyMatch(this::isOfOldSpec) || filterFileGroups(List.of(files)).iterator().hasNext();
  }

  /** Whether a file is to be rewritten for its partition spec. */
  boolean isOfOldSpec(FileScanTask file) {
    return rewriteOldSpecs && file.file().specId() != outputSpecId();
  }

  boolean isTooSmall(FileScanTask file) {
    return file.length() < minFileSize;
  }

  /** The data files that are to be rewritten because they are small, and for nothing else. */
  List<FileScanTask> onlySmall(List<FileScanTask> files) {
    List<FileScanTask> small = files.stream().filter(this::isTooSmall).toList();
    Set<FileScanTask> others = small.isEmpty() ? Set.of() : new HashSet<>(ofAnySize().worthRewriting(small));
    return small.stream().filter(file -> !others.contains(file)).toList();
  }

  boolean isTooLarge(FileScanTask file) {
    return file.length() > maxFileSize;
  }

  /** Whether there are enough files, whatever their size. */
  boolean areMany(List<FileScanTask> files) {
    return enoughInputFiles(files);
  }

  /** Whether there are enough bytes, whatever the number of files. */
  boolean areLarge(List<FileScanTask> files) {
    return enoughContent(files) || tooMuchContent(files);
  }

  /** A file group as Iceberg rewrites it, with nothing rewritten yet. */
  public RewriteFileGroup fileGroup(RewriteDataFiles.FileGroupInfo info, Selection.SelectedGroup group) {
    long size = inputSize(group.files());
    int newFiles = group.isFiner() ? finerOutputFiles(size) : expectedOutputFiles(size);
    return new RewriteFileGroup(info, group.files(), outputSpecId(), writeMaxFileSize(), inputSplitSize(size), newFiles);
  }

  /** Bytes of a file group at most; empty if nobody has set it. */
  OptionalLong maxFileGroupSize() {
    return options.containsKey(RewriteDataFiles.MAX_FILE_GROUP_SIZE_BYTES)
        ? OptionalLong.of(Long.parseLong(options.get(RewriteDataFiles.MAX_FILE_GROUP_SIZE_BYTES)))
        : OptionalLong.empty();
  }

  /** The partition spec of new files. */
  int newSpecId() {
    return outputSpecId();
  }

  String tableName() {
    return table().name();
  }

  /** The bytes that new files are to have. */
  public long targetFileSize() {
    return targetFileSize;
  }

  /** Below so many bytes a file is rewritten. */
  public long minFileSize() {
    return minFileSize;
  }

  /** Above so many bytes a file is rewritten. */
  public long maxFileSize() {
    return maxFileSize;
  }

  /** So many files of a partition are rewritten whatever their bytes. */
  public int minInputFiles() {
    return minInputFiles;
  }

  /** Whether files are rewritten whatever their size. */
  public boolean rewriteAll() {
    return rewriteAll;
  }

  /** So many times the attainable scan fraction is left alone, at least 1. */
  public double maxScanRatio() {
    return maxScanRatio;
  }

  /** Younger files, in seconds, are left alone; at least 0. */
  public long minAgeSeconds() {
    return minAgeSeconds;
  }

  /** Files rewritten at most, at least 1. */
  int maxFilesToRewrite() {
    return maxFilesToRewrite;
  }

  /** The order in which file groups are rewritten. */
  public RewriteJobOrder jobOrder() {
    return jobOrder;
  }
}
