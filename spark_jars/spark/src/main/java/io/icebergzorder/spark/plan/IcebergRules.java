package io.icebergzorder.spark.plan;

import io.icebergzorder.core.Reason;
import io.icebergzorder.core.metrics.FileSizes;
import io.icebergzorder.core.select.SmallFileCompaction;
import io.icebergzorder.spark.spec.RewriteOptions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.RewriteJobOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.util.PropertyUtil;

/** The rules of Iceberg's own planner, with the {@code compression-factor} of its shuffling rewriters. */
// It plans nothing itself: Iceberg's planner divides a partition wherever a group is full, and the files of groups that share a partition
// would overlap each other. Selection cuts them where they lie apart.
public final class IcebergRules extends BinPackRewriteFilePlanner {
  private final Map<String, String> options;
  private final boolean choosesLikeBuiltin;
  final double maxScanRatio;
  final boolean rewriteAll;
  final int maxFilesToRewrite;
  final long maxGroupBytes;
  final long maxGroupFiles;
  private final boolean rewriteOldSpecs;
  final long minAgeSeconds;
  /** The size limits, and how many files are written. */
  public final FileSizes sizes;

  final int minInputFiles;
  private IcebergRules ofAnySize;

  /** Takes the options, or refuses one as Iceberg does. */
  IcebergRules(Table table, RewriteOptions options, TargetSize size) {
    this(table, size.addedTo(options.forPlanner()), options.choosesLikeBuiltin());
  }

  private IcebergRules(Table table, Map<String, String> options, boolean choosesLikeBuiltin) {
    super(table);
    this.choosesLikeBuiltin = choosesLikeBuiltin;
    try {
      init(options);
      this.options = options;
      double compressionFactor = number(RewriteOptions.COMPRESSION_FACTOR, RewriteOptions.COMPRESSION_FACTOR_DEFAULT, Double.MIN_VALUE, "> 0");
      long target = PropertyUtil.propertyAsLong(options, TARGET_FILE_SIZE_BYTES, defaultTargetFileSize());
      sizes =
          new FileSizes(
              target,
              PropertyUtil.propertyAsLong(options, MIN_FILE_SIZE_BYTES, (long) (target * MIN_FILE_SIZE_DEFAULT_RATIO)),
              PropertyUtil.propertyAsLong(options, MAX_FILE_SIZE_BYTES, (long) (target * MAX_FILE_SIZE_DEFAULT_RATIO)),
              compressionFactor);
      maxScanRatio = number(RewriteOptions.MAX_SCAN_RATIO, RewriteOptions.MAX_SCAN_RATIO_DEFAULT, 1, ">= 1");
      minAgeSeconds = PropertyUtil.propertyAsLong(options, RewriteOptions.MIN_AGE_SECONDS, 0);
      check(minAgeSeconds >= 0, RewriteOptions.MIN_AGE_SECONDS, minAgeSeconds, ">= 0");
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(String.format("Cannot rewrite data files of %s, because %s", table.name(), e.getMessage()), e);
    }
    rewriteOldSpecs = PropertyUtil.propertyAsBoolean(options, RewriteOptions.REWRITE_OLD_SPECS, false);
    rewriteAll = PropertyUtil.propertyAsBoolean(options, REWRITE_ALL, REWRITE_ALL_DEFAULT);
    maxFilesToRewrite = PropertyUtil.propertyAsInt(options, MAX_FILES_TO_REWRITE, Integer.MAX_VALUE);
    maxGroupBytes =
        PropertyUtil.propertyAsLong(options, RewriteDataFiles.MAX_FILE_GROUP_SIZE_BYTES, RewriteOptions.MAX_FILE_GROUP_SIZE_BYTES_DEFAULT);
    maxGroupFiles = PropertyUtil.propertyAsLong(options, MAX_FILE_GROUP_INPUT_FILES, Long.MAX_VALUE);
    minInputFiles = PropertyUtil.propertyAsInt(options, MIN_INPUT_FILES, MIN_INPUT_FILES_DEFAULT);
  }

  private double number(String name, double otherwise, double least, String domain) {
    double value = PropertyUtil.propertyAsDouble(options, name, otherwise);
    check(value >= least, name, value, domain);
    return value;
  }

  private static void check(boolean holds, String name, Object value, String domain) {
    if (!holds) {
      throw new IllegalArgumentException(String.format("'%s' is set to %s but must be %s", name, value, domain));
    }
  }

  /** Whether a data file is to be rewritten for its size, its deletes or its partition spec. */
  boolean wants(FileScanTask file) {
    return file.length() < sizes.least() || file.length() > sizes.most() || mustRewrite(file);
  }

  /** Whether a data file is to be rewritten for its deletes or its partition spec, whatever its size. */
  boolean mustRewrite(FileScanTask file) {
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
      ofAnySize = new IcebergRules(table(), with, choosesLikeBuiltin);
    }
    return ofAnySize.filterFiles(List.of(file)).iterator().hasNext();
  }

  /**
   * The data files of a partition that are rewritten, as Iceberg does. But small files are not rewritten to as many, unless the options say
   * so, and those of earlier rewrites wait, see {@link SmallFileCompaction#toMerge}.
   */
  Set<FileScanTask> calledFor(List<FileScanTask> files, RewriteHistory.Earlier earlier) {
    if (rewriteAll) {
      return new HashSet<>(files);
    }
    Set<FileScanTask> called =
        files.stream().filter(file -> file.length() > sizes.most() || mustRewrite(file)).collect(Collectors.toCollection(HashSet::new));
    boolean isAnyElse = !called.isEmpty();
    List<FileScanTask> small = files.stream().filter(file -> wants(file) && !called.contains(file)).toList();
    boolean[] isTaken =
        SmallFileCompaction.toMerge(small.stream().mapToLong(FileScanTask::length).toArray(), small.stream().map(earlier::rewriteOf).toList());
    IntStream.range(0, isTaken.length).filter(place -> isTaken[place]).forEach(place -> called.add(small.get(place)));
    long size = called.stream().mapToLong(FileScanTask::length).sum();
    boolean areEnough = called.size() > 1 && (called.size() >= minInputFiles || size > sizes.target());
    boolean areFewer = choosesLikeBuiltin || sizes.expectedFiles(size) < called.size();
    return isAnyElse || areEnough && areFewer ? called : Set.of();
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
    long small = rest.stream().filter(file -> file.length() < sizes.least()).count();
    long large = rest.stream().filter(file -> file.length() > sizes.most()).count();
    List<Reason> reasons = new ArrayList<>();
    reasons.add(Reason.of(Reason.SMALL, "files", small, "min_file_size_bytes", sizes.least()));
    reasons.add(Reason.of(Reason.LARGE, "files", large, "max_file_size_bytes", sizes.most()));
    reasons.add(Reason.of(Reason.DELETES, "files", rest.size() - small - large));
    others.forEach((spec, count) ->
        reasons.add(Reason.of(Reason.OTHER_SPEC, "files", count, "spec_id", spec, "new_spec_id", outputSpecId())));
    reasons.removeIf(each -> each.parameters().get("files").equals(0L));
    return reasons;
  }

  /** Why small files are left. */
  Reason whySmall() {
    return Reason.of(
        Reason.TOO_FEW_SMALL,
        "min_file_size_bytes", sizes.least(), "min_input_files", minInputFiles, "target_file_size_bytes", sizes.target());
  }

  /** Why other files are left. */
  Reason whyInOrder() {
    return Reason.of(Reason.SIZE_IN_RANGE, "min_file_size_bytes", sizes.least(), "max_file_size_bytes", sizes.most());
  }

  /** The bytes at which a new file ends. */
  long maxOutputFileSize() {
    return writeMaxFileSize();
  }

  /** The partition spec of new files. */
  int newSpecId() {
    return outputSpecId();
  }

  /** The order in which file groups are rewritten. */
  RewriteJobOrder jobOrder() {
    return RewriteJobOrder.fromName(
        PropertyUtil.propertyAsString(options, RewriteDataFiles.REWRITE_JOB_ORDER, RewriteDataFiles.REWRITE_JOB_ORDER_DEFAULT));
  }
}
