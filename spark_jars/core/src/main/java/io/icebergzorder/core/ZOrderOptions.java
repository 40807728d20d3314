package io.icebergzorder.core;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The options of the zorder strategy itself. Those of {@code rewrite_data_files} belong to Iceberg.
 *
 * <table>
 *   <caption>Options</caption>
 *   <tr><th>name</th><th>domain</th><th>default</th><th>what it does</th></tr>
 *   <tr><td>cuts</td><td>adaptive, even</td><td>adaptive</td><td>how rows are cut into files: where boxes are tight,
 *       or evenly along the curve</td></tr>
 *   <tr><td>column-weights</td><td>a=3,b=1: numbers in (0, 1000000]</td><td>1 each</td><td>with adaptive cuts, how much
 *       a column's filters count against the others'</td></tr>
 *   <tr><td>size-tolerance</td><td>number in [0, 1)</td><td>0.25, with a workload 0.5</td><td>with adaptive cuts, how far a file's
 *       rows may lie from the mean, as a share of it</td></tr>
 *   <tr><td>sample-rows</td><td>integer in [1, 2147483647]</td><td>1,000 per output file, at least 50,000, at
 *       most 1,000,000</td><td>rows to sample: more make file sizes more even, and take longer</td></tr>
 *   <tr><td>sample-seed</td><td>integer in [-2^63, 2^63)</td><td>0</td><td>which rows are sampled</td></tr>
 *   <tr><td>boundaries</td><td>integer in [1, 65536]</td><td>4096</td><td>boundaries per column: more tell
 *       close values apart, and make the layout larger</td></tr>
 *   <tr><td>metrics-check</td><td>warn, fail, fix</td><td>warn</td><td>what is done about columns whose lower/upper bounds are not
 *       kept, or cut too short to tell values apart</td></tr>
 *   <tr><td>dry-run</td><td>true, false</td><td>false</td><td>plan, sample and predict, and write nothing</td></tr>
 *   <tr><td>workload</td><td>a file, or JSON</td><td>none</td><td>queries that adaptive cuts are made for, as the command
 *       {@code workload} writes them</td></tr>
 *   <tr><td>workload-share</td><td>number in [0, 1]</td><td>0.95</td><td>how much these queries count against others that
 *       nobody has foreseen</td></tr>
 * </table>
 *
 * @param cuts the kind of cuts
 * @param columnWeights the weights of some columns
 * @param sizeTolerance how far a file's share of the rows may lie from the mean
 * @param sampleRows the rows to sample if they are set, see {@link #sampleRows(int)}
 * @param sampleSeed the seed of the sample
 * @param maxBoundaries the wanted number of boundaries per column
 * @param metricsCheck what is done about columns whose lower/upper bounds do not serve
 * @param dryRun whether nothing is written
 * @param workload the queries that files are cut for: JSON, or where it lies
 * @param workloadShare the share of the queries that the workload knows
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
  /** How rows are cut into files. */
  public static final String CUTS = "cuts";

  /** Default of {@link #CUTS}. */
  public static final String CUTS_DEFAULT = BoxTree.KIND;

  /** How much the filters of each column count; 1 where nothing is said. */
  public static final String COLUMN_WEIGHTS = "column-weights";

  /** How far a file's rows may lie from the mean. */
  public static final String SIZE_TOLERANCE = "size-tolerance";

  /** Default of {@link #SIZE_TOLERANCE}. */
  public static final double SIZE_TOLERANCE_DEFAULT = 0.25;

  /** The same with a workload: what it spares is worth less even sizes. */
  public static final double SIZE_TOLERANCE_OF_WORKLOAD = 0.5;

  /** Rows to sample; the default depends on the number of output files. */
  public static final String SAMPLE_ROWS = "sample-rows";

  /** The seed of the sample: the same seed and snapshot give the same sample. */
  public static final String SAMPLE_SEED = "sample-seed";

  /** Default of {@link #SAMPLE_SEED}. */
  public static final long SAMPLE_SEED_DEFAULT = 0;

  /** Boundaries per column. */
  public static final String BOUNDARIES = "boundaries";

  /** Default of {@link #BOUNDARIES}. */
  public static final int BOUNDARIES_DEFAULT = 4096;

  /** What is done about columns whose lower/upper bounds are not kept, or cut too short: see {@link MetricsCheck}. */
  public static final String METRICS_CHECK = "metrics-check";

  /** Default of {@link #METRICS_CHECK}: users are told. */
  public static final String METRICS_CHECK_DEFAULT = "warn";

  /** Value of {@link #METRICS_CHECK}: the rewrite is refused. */
  public static final String METRICS_CHECK_FAIL = "fail";

  /** Value of {@link #METRICS_CHECK}: the table's properties are set so that bounds serve. */
  public static final String METRICS_CHECK_FIX = "fix";

  /** Whether to plan, sample and predict only. */
  public static final String DRY_RUN = "dry-run";

  /** The queries that files are cut for: JSON, or where it lies. */
  public static final String WORKLOAD = "workload";

  /** The share of the queries that the workload knows. */
  public static final String WORKLOAD_SHARE = "workload-share";

  /** Default of {@link #WORKLOAD_SHARE}. */
  public static final double WORKLOAD_SHARE_DEFAULT = 0.95;

  /** The names of all options here; the engine refuses what neither it nor Iceberg knows. */
  public static final Set<String> NAMES =
      Set.of(
          CUTS,
          COLUMN_WEIGHTS,
          SIZE_TOLERANCE,
          SAMPLE_ROWS,
          SAMPLE_SEED,
          BOUNDARIES,
          METRICS_CHECK,
          DRY_RUN,
          WORKLOAD,
          WORKLOAD_SHARE);

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

  /** Whether a column whose lower/upper bounds do not serve is refused. */
  public boolean refusesBadMetrics() {
    return metricsCheck.equals(METRICS_CHECK_FAIL);
  }

  /** Whether the table's properties are set so that bounds serve. */
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
      throw new IllegalArgumentException(
          "Cannot use option %s, because option %s is not given".formatted(WORKLOAD_SHARE, WORKLOAD));
    }
    if (workload.isPresent() && cuts.equals(EvenCuts.KIND)) {
      throw new IllegalArgumentException(
          "Cannot use option %s with %s '%s', because only adaptive cuts follow queries".formatted(WORKLOAD, CUTS, cuts));
    }
    return workload;
  }

  private static double workloadShare(String text) {
    if (text == null) {
      return WORKLOAD_SHARE_DEFAULT;
    }
    if (!NUMBER.matcher(text).matches() || !(Double.parseDouble(text) <= 1)) {
      throw refused(WORKLOAD_SHARE, text, "a number in [0, 1]");
    }
    return Double.parseDouble(text);
  }

  private static double sizeTolerance(String text, boolean hasWorkload) {
    if (text == null) {
      return hasWorkload ? SIZE_TOLERANCE_OF_WORKLOAD : SIZE_TOLERANCE_DEFAULT;
    }
    if (!NUMBER.matcher(text).matches() || !(Double.parseDouble(text) < 1)) {
      throw refused(SIZE_TOLERANCE, text, "a number in [0, 1)");
    }
    return Double.parseDouble(text);
  }

  private static long integer(
      Map<String, String> options, String name, long byDefault, long least, long most) {
    if (!options.containsKey(name)) {
      return byDefault;
    }
    String text = options.get(name);
    String domain = "an integer in [%d, %d]".formatted(least, most);
    // Long.parseLong takes the digits of every script.
    if (!INTEGER.matcher(text).matches()) {
      throw refused(name, text, domain);
    }
    long value;
    try {
      value = Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw refused(name, text, domain);
    }
    if (value < least || value > most) {
      throw refused(name, text, domain);
    }
    return value;
  }

  private static IllegalArgumentException refused(String name, String value, String domain) {
    return new IllegalArgumentException(
        "Cannot set %s to '%s', because it must be %s".formatted(name, value, domain));
  }
}
