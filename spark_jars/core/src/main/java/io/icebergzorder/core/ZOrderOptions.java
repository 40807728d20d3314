package io.icebergzorder.core;

import io.icebergzorder.core.Cuts.EvenCuts;
import java.math.BigInteger;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The options of the zorder strategy itself, which {@code docs/reference/options.md} describes. Those of {@code rewrite_data_files} belong to Iceberg.
 *
 * @param sampleRows the rows to sample if they are set, see {@link #sampleRows(int)}
 * @param workload the queries that files are cut for: JSON, or where it lies
 */
public record ZOrderOptions(
    String cuts,
    List<ColumnWeight> columnWeights,
    double sizeTolerance,
    OptionalInt sampleRows,
    long sampleSeed,
    int maxBoundaries,
    String metricsCheck,
    boolean dryRun,
    Optional<String> workload,
    double workloadShare) {
  /** The weight of a clustering column, in (0, 1000000]: how much its filters count against the others'. */
  public record ColumnWeight(List<String> parts, double weight) {
    public ColumnWeight {
      parts = List.copyOf(parts);
    }

    /** Reads weights, such as {@code a=3, b=0.5}. */
    public static List<ColumnWeight> parse(String text) {
      return new SortOrderParser(text, "set column-weights to").columnWeights();
    }
  }

  public static final String CUTS = "cuts";
  public static final String CUTS_DEFAULT = BoxTree.KIND;
  public static final String COLUMN_WEIGHTS = "column-weights";
  public static final String SIZE_TOLERANCE = "size-tolerance";
  public static final double SIZE_TOLERANCE_DEFAULT = 0.25;

  /** Default size tolerance with a workload, whose savings justify less even sizes. */
  public static final double SIZE_TOLERANCE_OF_WORKLOAD = 0.5;

  public static final String SAMPLE_ROWS = "sample-rows";
  public static final String SAMPLE_SEED = "sample-seed";
  public static final long SAMPLE_SEED_DEFAULT = 0;
  public static final String BOUNDARIES = "boundaries";
  public static final int BOUNDARIES_DEFAULT = 4096;

  /** The handling of columns whose lower/upper bounds are missing or too short: see {@link MetricsCheck}. */
  public static final String METRICS_CHECK = "metrics-check";

  public static final String METRICS_CHECK_DEFAULT = "warn";
  public static final String METRICS_CHECK_FAIL = "fail";
  public static final String METRICS_CHECK_FIX = "fix";
  public static final String DRY_RUN = "dry-run";
  public static final String WORKLOAD = "workload";
  public static final String WORKLOAD_SHARE = "workload-share";
  public static final double WORKLOAD_SHARE_DEFAULT = 0.95;

  /** Options that are neither here nor Iceberg's are refused. */
  public static final Set<String> NAMES =
      Set.of(
          CUTS, COLUMN_WEIGHTS, SIZE_TOLERANCE, SAMPLE_ROWS, SAMPLE_SEED, BOUNDARIES, METRICS_CHECK, DRY_RUN, WORKLOAD, WORKLOAD_SHARE);

  private static final Set<String> METRICS_CHECKS = Set.of(METRICS_CHECK_DEFAULT, METRICS_CHECK_FAIL, METRICS_CHECK_FIX);

  private static final Pattern NUMBER = Pattern.compile("[0-9]+(\\.[0-9]+)?");
  private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]+");

  private static final int SAMPLE_ROWS_PER_FILE = 1_000;
  private static final int SAMPLE_ROWS_AT_LEAST = 50_000;
  private static final int SAMPLE_ROWS_AT_MOST = 1_000_000;

  /** Reads the options in {@link #NAMES}; others are not looked at. */
  public static ZOrderOptions of(Map<String, String> options) {
    String cuts = options.getOrDefault(CUTS, CUTS_DEFAULT);
    if (!cuts.equals(BoxTree.KIND) && !cuts.equals(EvenCuts.KIND)) {
      throw refused(CUTS, cuts, "'" + BoxTree.KIND + "' or '" + EvenCuts.KIND + "'");
    }
    Optional<String> workload = workload(options, cuts);
    OptionalInt sampleRows =
        options.containsKey(SAMPLE_ROWS)
            ? OptionalInt.of((int) integer(options, SAMPLE_ROWS, 0, 1, Integer.MAX_VALUE))
            : OptionalInt.empty();
    return new ZOrderOptions(
        cuts,
        options.containsKey(COLUMN_WEIGHTS) ? ColumnWeight.parse(options.get(COLUMN_WEIGHTS)) : List.of(),
        sizeTolerance(options.get(SIZE_TOLERANCE), workload.isPresent()),
        sampleRows,
        integer(options, SAMPLE_SEED, SAMPLE_SEED_DEFAULT, Long.MIN_VALUE, Long.MAX_VALUE),
        (int) integer(options, BOUNDARIES, BOUNDARIES_DEFAULT, 1, Layout.MAX_BOUNDARIES),
        metricsCheck(options),
        isTrue(options, DRY_RUN),
        workload,
        workloadShare(options.get(WORKLOAD_SHARE)));
  }

  /** The option {@code sample-rows}, or its default for so many output files. */
  public int sampleRows(int files) {
    long perFile = (long) SAMPLE_ROWS_PER_FILE * files;
    long byDefault = Math.min(SAMPLE_ROWS_AT_MOST, Math.max(SAMPLE_ROWS_AT_LEAST, perFile));
    return sampleRows.orElse((int) byDefault);
  }

  /** Whether columns with missing or too short bounds are refused. */
  public boolean refusesBadMetrics() {
    return metricsCheck.equals(METRICS_CHECK_FAIL);
  }

  /** Whether the rewrite sets the metrics modes that columns need. */
  public boolean fixesMetrics() {
    return metricsCheck.equals(METRICS_CHECK_FIX);
  }

  private static String metricsCheck(Map<String, String> options) {
    String text = options.getOrDefault(METRICS_CHECK, METRICS_CHECK_DEFAULT);
    if (!METRICS_CHECKS.contains(text.toLowerCase(Locale.ROOT))) {
      throw refused(METRICS_CHECK, text, "'warn', 'fail' or 'fix'");
    }
    return text.toLowerCase(Locale.ROOT);
  }

  private static boolean isTrue(Map<String, String> options, String name) {
    String text = options.getOrDefault(name, "false");
    if (!text.equalsIgnoreCase("true") && !text.equalsIgnoreCase("false")) {
      throw refused(name, text, "true or false");
    }
    return text.equalsIgnoreCase("true");
  }

  private static Optional<String> workload(Map<String, String> options, String cuts) {
    Optional<String> workload = Optional.ofNullable(options.get(WORKLOAD));
    if (workload.isEmpty() && options.containsKey(WORKLOAD_SHARE)) {
      throw new IllegalArgumentException("Cannot use option %s, because option %s is not given".formatted(WORKLOAD_SHARE, WORKLOAD));
    }
    if (workload.isPresent() && cuts.equals(EvenCuts.KIND)) {
      throw new IllegalArgumentException(
          "Cannot use option %s with %s '%s', because only adaptive cuts follow queries".formatted(WORKLOAD, CUTS, cuts));
    }
    return workload;
  }

  private static double workloadShare(String text) {
    return text == null ? WORKLOAD_SHARE_DEFAULT : share(WORKLOAD_SHARE, text, 1, "a number in [0, 1]");
  }

  private static double sizeTolerance(String text, boolean hasWorkload) {
    double byDefault = hasWorkload ? SIZE_TOLERANCE_OF_WORKLOAD : SIZE_TOLERANCE_DEFAULT;
    return text == null ? byDefault : share(SIZE_TOLERANCE, text, Math.nextDown(1.0), "a number in [0, 1)");
  }

  private static double share(String name, String text, double most, String domain) {
    if (!NUMBER.matcher(text).matches() || Double.parseDouble(text) > most) {
      throw refused(name, text, domain);
    }
    return Double.parseDouble(text);
  }

  private static long integer(Map<String, String> options, String name, long byDefault, long least, long most) {
    if (!options.containsKey(name)) {
      return byDefault;
    }
    String text = options.get(name);
    String domain = "an integer in [%d, %d]".formatted(least, most);
    // BigInteger takes the digits of every script.
    BigInteger value = INTEGER.matcher(text).matches() ? new BigInteger(text) : null;
    if (value == null || value.compareTo(BigInteger.valueOf(least)) < 0 || value.compareTo(BigInteger.valueOf(most)) > 0) {
      throw refused(name, text, domain);
    }
    return value.longValue();
  }

  private static IllegalArgumentException refused(String name, String value, String domain) {
    return new IllegalArgumentException("Cannot set %s to '%s', because it must be %s".formatted(name, value, domain));
  }
}
