package io.icebergzorder.spark.spec;

import io.icebergzorder.core.SpelledAlike;
import io.icebergzorder.core.ZOrderOptions;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.SizeBasedFileRewritePlanner;
import org.apache.iceberg.util.PropertyUtil;

/**
 * The options of one rewrite: Iceberg's own, by Iceberg's names and defaults, and ours.
 *
 * <p>What Iceberg's planner reads stays in {@link #all} and is checked there; here every value is only checked to be of
 * its option's type, because Iceberg takes any text that is not {@code true} for {@code false} and names no option when
 * a number cannot be read.
 *
 * @param isLikeBuiltin whether it stands for Iceberg's own sort: file sizes are Iceberg's, no file is left for the sake of other rewrites,
 *     and nothing is recorded for later ones
 */
public record RewriteOptions(
    Map<String, String> all,
    ZOrderOptions layout,
    int maxConcurrentFileGroupRewrites,
    Optional<PartialProgress> partialProgress,
    boolean useStartingSequenceNumber,
    boolean removeDanglingDeletes,
    boolean isLikeBuiltin) {
  /** Multiplies the input's size on disk before it is divided into output files; in (0, inf), 1.0 by default. */
  public static final String COMPRESSION_FACTOR = "compression-factor";

  public static final double COMPRESSION_FACTOR_DEFAULT = 1.0;

  /** A job then needs at most about 4 TiB of local disk. */
  public static final long MAX_FILE_GROUP_SIZE_BYTES_DEFAULT = 1L << 40;

  /** Partitions whose cost is above this multiple of the attainable cost are rewritten for gain; in [1, inf]. */
  public static final String MAX_SCAN_RATIO = "max-scan-ratio";

  /** By default, partitions up to 1.2 times the attainable cost are left. */
  public static final double MAX_SCAN_RATIO_DEFAULT = 1.2;

  /** Younger data files are left, in seconds; in [0, 2^63), 0 by default. */
  public static final String MIN_AGE_SECONDS = "min-age-seconds";

  /** Whether files of other partition specs than the new files' are rewritten regardless of size; false by default. */
  public static final String REWRITE_OLD_SPECS = "rewrite-old-specs";

  /** What happens if others delete rows meanwhile: {@code translate}, the default, or {@code fail}. */
  public static final String ON_CONFLICT = "on-conflict";

  public record PartialProgress(int maxCommits, int maxFailedCommits) {
    /** The number of file groups per commit, given the number of all groups. */
    public int groupsPerCommit(int groups) {
      return (groups + maxCommits - 1) / maxCommits;
    }
  }

  /** A description of valid values, and a parser that throws for others. */
  private record Type(String words, Function<String, Object> parse) {}

  private static final Type INT = new Type("a whole number", Integer::parseInt);
  private static final Type LONG = new Type("a whole number", Long::parseLong);
  private static final Type DOUBLE = new Type("a number", Double::parseDouble);
  private static final Type BOOLEAN = new Type("true or false", value -> Boolean.valueOf(oneOf(value, "true", "false")));
  private static final Type CONFLICT = new Type("'translate' or 'fail'", value -> oneOf(value, "translate", "fail"));
  private static final Type TEXT = new Type("a text", value -> value);

  /** The type of each option, except of those of the layout. */
  private static final Map<String, Type> TYPES =
      Map.ofEntries(
          Map.entry(RewriteDataFiles.MAX_CONCURRENT_FILE_GROUP_REWRITES, INT),
          Map.entry(RewriteDataFiles.MAX_FILE_GROUP_SIZE_BYTES, LONG),
          Map.entry(RewriteDataFiles.PARTIAL_PROGRESS_ENABLED, BOOLEAN),
          Map.entry(RewriteDataFiles.PARTIAL_PROGRESS_MAX_COMMITS, INT),
          Map.entry(RewriteDataFiles.PARTIAL_PROGRESS_MAX_FAILED_COMMITS, INT),
          Map.entry(RewriteDataFiles.TARGET_FILE_SIZE_BYTES, LONG),
          Map.entry(RewriteDataFiles.USE_STARTING_SEQUENCE_NUMBER, BOOLEAN),
          Map.entry(RewriteDataFiles.REWRITE_JOB_ORDER, TEXT),
          Map.entry(RewriteDataFiles.OUTPUT_SPEC_ID, INT),
          Map.entry(RewriteDataFiles.REMOVE_DANGLING_DELETES, BOOLEAN),
          Map.entry(BinPackRewriteFilePlanner.MAX_FILES_TO_REWRITE, INT),
          Map.entry(BinPackRewriteFilePlanner.DELETE_FILE_THRESHOLD, INT),
          Map.entry(BinPackRewriteFilePlanner.DELETE_RATIO_THRESHOLD, DOUBLE),
          Map.entry(SizeBasedFileRewritePlanner.MIN_FILE_SIZE_BYTES, LONG),
          Map.entry(SizeBasedFileRewritePlanner.MAX_FILE_SIZE_BYTES, LONG),
          Map.entry(SizeBasedFileRewritePlanner.MIN_INPUT_FILES, INT),
          Map.entry(SizeBasedFileRewritePlanner.MAX_FILE_GROUP_INPUT_FILES, LONG),
          Map.entry(SizeBasedFileRewritePlanner.REWRITE_ALL, BOOLEAN),
          Map.entry(COMPRESSION_FACTOR, DOUBLE),
          Map.entry(MAX_SCAN_RATIO, DOUBLE),
          Map.entry(MIN_AGE_SECONDS, LONG),
          Map.entry(ON_CONFLICT, CONFLICT),
          Map.entry(REWRITE_OLD_SPECS, BOOLEAN));

  /** Reads the options of a rewrite, which may stand for Iceberg's own sort. */
  public static RewriteOptions of(Map<String, String> options, boolean isLikeBuiltin) {
    Set<String> unknown = new TreeSet<>(options.keySet());
    unknown.removeAll(TYPES.keySet());
    unknown.removeAll(ZOrderOptions.NAMES);
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "Cannot use options %s, because they are not supported by the action or the rewriter zorder%s"
              .formatted(unknown, SpelledAlike.hint(unknown.iterator().next(), known(), "known are " + known())));
    }

    Map<String, String> own = new HashMap<>(options);
    own.keySet().retainAll(ZOrderOptions.NAMES);
    options.forEach((name, value) -> checkType(name, value, TYPES.get(name)));

    int groups =
        PropertyUtil.propertyAsInt(
            options,
            RewriteDataFiles.MAX_CONCURRENT_FILE_GROUP_REWRITES,
            RewriteDataFiles.MAX_CONCURRENT_FILE_GROUP_REWRITES_DEFAULT);
    checkPositive(RewriteDataFiles.MAX_CONCURRENT_FILE_GROUP_REWRITES, groups, "");
    return new RewriteOptions(
        Map.copyOf(options),
        ZOrderOptions.of(own),
        groups,
        partialProgress(options),
        PropertyUtil.propertyAsBoolean(
            options,
            RewriteDataFiles.USE_STARTING_SEQUENCE_NUMBER,
            RewriteDataFiles.USE_STARTING_SEQUENCE_NUMBER_DEFAULT),
        PropertyUtil.propertyAsBoolean(
            options, RewriteDataFiles.REMOVE_DANGLING_DELETES, RewriteDataFiles.REMOVE_DANGLING_DELETES_DEFAULT),
        isLikeBuiltin);
  }

  /** Whether all files are rewritten, regardless of the gain. */
  public boolean isRewriteAll() {
    return Boolean.parseBoolean(all.get(SizeBasedFileRewritePlanner.REWRITE_ALL));
  }

  /** Whether files are chosen as Iceberg's own sort does, to as many files, too. */
  public boolean choosesLikeBuiltin() {
    return isLikeBuiltin && !all.containsKey(MAX_SCAN_RATIO);
  }

  /** Whether files are chosen by sizes, deletes and partition specs alone. */
  public boolean choosesBySize() {
    return isRewriteAll() || choosesLikeBuiltin() || Double.isInfinite(maxScanRatio());
  }

  /** Whether files are left that earlier rewrites have written, and file groups without predicted gain. */
  public boolean mayLeaveGroups() {
    return !isRewriteAll() && !isLikeBuiltin;
  }

  /** Whether rows that others delete meanwhile are deleted from the new files, or these are written again; otherwise the rewrite fails. */
  // Without the starting sequence number, equality deletes would have to be translated, too.
  public boolean resolvesConflicts() {
    return useStartingSequenceNumber && !"fail".equalsIgnoreCase(all.get(ON_CONFLICT));
  }

  public double maxScanRatio() {
    return PropertyUtil.propertyAsDouble(all, MAX_SCAN_RATIO, MAX_SCAN_RATIO_DEFAULT);
  }

  /** The bytes of a file group, and of the file groups that are rewritten at a time. */
  public long maxFileGroupSizeBytes() {
    return PropertyUtil.propertyAsLong(all, RewriteDataFiles.MAX_FILE_GROUP_SIZE_BYTES, MAX_FILE_GROUP_SIZE_BYTES_DEFAULT);
  }

  private static Optional<PartialProgress> partialProgress(Map<String, String> options) {
    if (!PropertyUtil.propertyAsBoolean(
        options, RewriteDataFiles.PARTIAL_PROGRESS_ENABLED, RewriteDataFiles.PARTIAL_PROGRESS_ENABLED_DEFAULT)) {
      return Optional.empty();
    }
    int commits =
        PropertyUtil.propertyAsInt(
            options,
            RewriteDataFiles.PARTIAL_PROGRESS_MAX_COMMITS,
            RewriteDataFiles.PARTIAL_PROGRESS_MAX_COMMITS_DEFAULT);
    String condition = " when " + RewriteDataFiles.PARTIAL_PROGRESS_ENABLED + " is true";
    checkPositive(RewriteDataFiles.PARTIAL_PROGRESS_MAX_COMMITS, commits, condition);
    int failed = PropertyUtil.propertyAsInt(options, RewriteDataFiles.PARTIAL_PROGRESS_MAX_FAILED_COMMITS, commits);
    return Optional.of(new PartialProgress(commits, failed));
  }

  /** The options for Iceberg's planner: all but ours. */
  public Map<String, String> forPlanner() {
    Map<String, String> options = new HashMap<>(all);
    options.keySet().removeAll(ZOrderOptions.NAMES);
    return options;
  }

  private static Set<String> known() {
    Set<String> names = new TreeSet<>(TYPES.keySet());
    names.addAll(ZOrderOptions.NAMES);
    return names;
  }

  private static void checkType(String name, String value, Type type) {
    if (type == null) {
      return;
    }
    try {
      type.parse().apply(value);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("Cannot set %s to '%s', because it must be %s".formatted(name, value, type.words()), e);
    }
  }

  private static void checkPositive(String name, int value, String condition) {
    if (value < 1) {
      throw new IllegalArgumentException("Cannot set %s to %s, because the value must be positive%s.".formatted(name, value, condition));
    }
  }

  private static String oneOf(String value, String... known) {
    if (Stream.of(known).noneMatch(value::equalsIgnoreCase)) {
      throw new IllegalArgumentException(value);
    }
    return value;
  }
}
