package io.icebergzorder.spark.plan.selection;

import io.icebergzorder.core.Reason;
import io.icebergzorder.core.upkeep.Gathering;
import io.icebergzorder.core.upkeep.UpkeepRequest;
import io.icebergzorder.spark.request.RewriteOptions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.RewriteJobOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.util.PropertyUtil;

/**
 * The rules of Iceberg's own planner, with the {@code compression-factor} of its shuffling rewriters: which data files are of a wrong
 * size or have too many deletes, which groups of them are worth a rewrite, and how many files of which size come of a group.
 *
 * <p>It plans nothing itself: Iceberg's planner divides a partition by {@code max-file-group-size-bytes} and
 * {@code max-file-group-input-files} wherever a group is full, and the files of groups that share a partition would overlap each other.
 * {@link Selection} applies the former, the latter is checked, and not applied.
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
  private IcebergRules ofAnySize;

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

  /** Whether a data file is to be rewritten for its size, its deletes or its partition spec. */
  boolean wants(FileScanTask file) {
    return file.length() < minFileSize || file.length() > maxFileSize || isDue(file);
  }

  /** Whether a data file is to be rewritten for its deletes or its partition spec, whatever its size. */
  public boolean isDue(FileScanTask file) {
    return isOfOldSpec(file) || hasTooManyDeletes(file);
  }

  private boolean isOfOldSpec(FileScanTask file) {
    return rewriteOldSpecs && file.file().specId() != outputSpecId();
  }

  private boolean hasTooManyDeletes(FileScanTask file) {
    if (ofAnySize == null) {
      Map<String, String> with = new HashMap<>(options);
      with.put(MIN_FILE_SIZE_BYTES, "0");
      with.put(MAX_FILE_SIZE_BYTES, String.valueOf(Long.MAX_VALUE));
      ofAnySize = new IcebergRules(table(), with);
    }
    return ofAnySize.filterFiles(List.of(file)).iterator().hasNext();
  }

  /**
   * The data files of a partition that are rewritten, as Iceberg does. But small files are not rewritten to as many, and those of earlier
   * rewrites wait, see {@link Gathering#gathered}.
   *
   * @param rewriteOf the earlier rewrite that wrote a file; empty for others
   * @param isLikeBuiltin whether small files are rewritten to as many, too
   */
  Set<FileScanTask> calledFor(List<FileScanTask> files, Function<FileScanTask, String> rewriteOf, boolean isLikeBuiltin) {
    if (rewriteAll) {
      return new HashSet<>(files);
    }
    List<FileScanTask> wanted = files.stream().filter(this::wants).toList();
    Set<FileScanTask> others =
        wanted.stream().filter(file -> file.length() > maxFileSize || isDue(file)).collect(Collectors.toSet());
    List<FileScanTask> small = wanted.stream().filter(file -> !others.contains(file)).toList();
    long[] sizes = small.stream().mapToLong(FileScanTask::length).toArray();
    boolean[] isTaken = Gathering.gathered(sizes, small.stream().map(rewriteOf).toList());
    Set<FileScanTask> called = new HashSet<>(others);
    IntStream.range(0, isTaken.length).filter(place -> isTaken[place]).forEach(place -> called.add(small.get(place)));
    long size = called.stream().mapToLong(FileScanTask::length).sum();
    boolean areEnough = called.size() > 1 && (called.size() >= minInputFiles || size > targetFileSize);
    boolean areFewer = isLikeBuiltin || expectedOutputFiles(size) < called.size();
    return !others.isEmpty() || (areEnough && areFewer) ? called : Set.of();
  }

  /** Why data files are called for. */
  List<Reason> whyChosen(List<FileScanTask> files) {
    if (rewriteAll) {
      return List.of(Reason.of(Reason.REWRITE_ALL));
    }
    Map<Integer, Long> others =
        files.stream()
            .filter(this::isOfOldSpec)
            .collect(Collectors.groupingBy(file -> file.file().specId(), TreeMap::new, Collectors.counting()));
    List<FileScanTask> rest = files.stream().filter(file -> !isOfOldSpec(file)).toList();
    long small = rest.stream().filter(file -> file.length() < minFileSize).count();
    long large = rest.stream().filter(file -> file.length() > maxFileSize).count();
    List<Reason> reasons = new ArrayList<>();
    reasons.add(Reason.of(Reason.SMALL, "files", small, "min_file_size_bytes", minFileSize));
    reasons.add(Reason.of(Reason.LARGE, "files", large, "max_file_size_bytes", maxFileSize));
    reasons.add(Reason.of(Reason.DELETES, "files", rest.size() - small - large));
    others.forEach((spec, count) ->
        reasons.add(Reason.of(Reason.OTHER_SPEC, "files", count, "spec_id", spec, "new_spec_id", outputSpecId())));
    reasons.removeIf(each -> each.parameters().get("files").equals(0L));
    return reasons;
  }

  /** Why small files are left. */
  Reason whySmall() {
    return Reason.of(
        Reason.SMALL_LEFT,
        "min_file_size_bytes", minFileSize, "min_input_files", minInputFiles, "target_file_size_bytes", targetFileSize);
  }

  /** Why other files are left. */
  Reason whyInOrder() {
    return Reason.of(Reason.IN_ORDER, "min_file_size_bytes", minFileSize, "max_file_size_bytes", maxFileSize);
  }

  /** Into how many files a file group is written. */
  public int expectedFiles(Selection.SelectedGroup group) {
    long size = inputSize(group.files());
    return expectedOutputFiles(group.isFiner() ? UpkeepRequest.finer(size) : size);
  }

  /** The bytes at which a new file ends. */
  public long maxOutputFileSize() {
    return writeMaxFileSize();
  }

  /** Bytes of a file group at most; without a limit if nobody has set it. */
  long maxFileGroupSize() {
    return PropertyUtil.propertyAsLong(
        options, RewriteDataFiles.MAX_FILE_GROUP_SIZE_BYTES, Long.MAX_VALUE);
  }

  /** The partition spec of new files. */
  public int newSpecId() {
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
