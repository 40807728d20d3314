package io.icebergzorder.core;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A reason why data files are rewritten, or left.
 *
 * @param code the kind of reason, the same in both engines; {@code docs/reference/plans.md} lists the codes
 * @param parameters the figures of the reason by name: long, double of six digits, text, or a map of texts
 */
public record Reason(String code, Map<String, Object> parameters) {
  public static final String REWRITE_ALL = "rewrite-all";
  public static final String SMALL = "small";
  public static final String LARGE = "large";
  public static final String DELETES = "deletes";
  public static final String OTHER_SPEC = "other-spec";
  public static final String SCAN_RATIO = "scan-ratio";
  public static final String SPLIT_GROUP = "split-group";
  public static final String FILE_LIMIT = "file-limit";

  public static final String NO_ROWS = "no-rows";
  public static final String YOUNG = "young";
  public static final String SETTLED = "settled";
  public static final String ALREADY_WRITTEN = "already-written";
  public static final String TOO_FEW_SMALL = "too-few-small";
  public static final String SIZE_IN_RANGE = "size-in-range";
  public static final String OTHER_SPEC_UNKNOWN = "other-spec-unknown";
  public static final String SCAN_RATIO_LOW = "scan-ratio-low";
  public static final String GAIN_TOO_SMALL = "gain-too-small";
  public static final String NOT_WORTH_ADDING = "not-worth-adding";
  public static final String NOT_IN_PLAN = "not-in-plan";
  public static final String MAX_FILES_TO_REWRITE = "max-files-to-rewrite";
  public static final String NO_GAIN = "no-gain";

  private static final List<String> COSTS = List.of("before", "attainable");
  private static final int DIGITS = 6;
  private static final int REASONS_SHOWN = 3;
  private static final double UNIT = 1000;
  private static final long TRIAL_SIZE = 128 * 1024;
  private static final long LEAST_OF_TRIAL = 4 * TRIAL_SIZE;
  private static final String UNITS = "kMGTPE";

  /** Takes a copy; numbers are as JSON has them, so that a reason equals itself once it is read back. */
  public Reason {
    Map<String, Object> copy = new LinkedHashMap<>();
    parameters.forEach((name, value) -> copy.put(name, value instanceof Number number ? written(number) : value));
    parameters = Collections.unmodifiableMap(copy);
  }

  private static Number written(Number number) {
    return number instanceof Double fraction && Double.isFinite(fraction)
        ? (Number) new BigDecimal(fraction).setScale(DIGITS, RoundingMode.HALF_EVEN).doubleValue()
        : number instanceof Integer ? (Number) number.longValue() : number;
  }

  /** Makes a reason of a code, and of names and values in turn. */
  public static Reason of(String code, Object... pairs) {
    Map<String, Object> parameters = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      parameters.put((String) pairs[i], pairs[i + 1]);
    }
    return new Reason(code, parameters);
  }

  /** The same reason with the costs of others of its kind, added up; costs that it does not have stay away. */
  public Reason withCosts(List<Reason> others) {
    Map<String, Object> summed = new LinkedHashMap<>(parameters);
    for (String name : COSTS) {
      summed.computeIfPresent(name, (key, own) -> others.stream().mapToLong(each -> (long) each.number(key)).sum());
    }
    return new Reason(code, summed);
  }

  /** Whether it has what a filter on the named columns costs in its partition. */
  public boolean hasCostsOfColumns() {
    return "columns".equals(parameters.get("over")) && parameters.keySet().containsAll(COSTS);
  }

  /** Whether the costs of the partition leave out its files. */
  public boolean leavesCostsOut() {
    return code.equals(YOUNG) || code.equals(ALREADY_WRITTEN);
  }

  /** Returns the reasons of one group of files as text, which names options and their values. */
  public static String text(List<Reason> reasons) {
    StringBuilder text = new StringBuilder();
    Reason last = null;
    for (Reason reason : reasons) {
      boolean isOfWhole = reason.code.equals(SPLIT_GROUP) || reason.code.equals(FILE_LIMIT);
      text.append(last == null ? "" : isOfWhole ? newSpec(last) + "; " : ", ").append(reason.words());
      last = reason;
    }
    return text + newSpec(last);
  }

  /** The new spec, which follows the last of several old specs. */
  private static String newSpec(Reason last) {
    return last != null && last.code.equals(OTHER_SPEC) ? last.words("; new files are of %d", "new_spec_id") : "";
  }

  private String words() {
    return switch (code) {
      case REWRITE_ALL -> "rewrite-all is true";
      case SMALL -> files() + words(" below min-file-size-bytes %,d", "min_file_size_bytes");
      case LARGE -> files() + words(" above max-file-size-bytes %,d", "max_file_size_bytes");
      case DELETES -> files() + " with deletes above delete-file-threshold or delete-ratio-threshold";
      case OTHER_SPEC -> files() + words(" of partition spec %d", "spec_id");
      case SCAN_RATIO -> ratio() + ": expected to cost " + cost("predicted") + " after" + notCounted();
      case SPLIT_GROUP -> words("part %,d of %,d, split by ", "number", "of") + bounds();
      case FILE_LIMIT -> words("%,d of its %,d files, because max-files-to-rewrite is %,d", "files", "of", "max_files_to_rewrite");
      case NO_ROWS -> "no rows by their manifest entries, so filters skip them, too";
      case YOUNG -> words("younger than min-age-seconds %,d", "min_age_seconds");
      case SETTLED -> "unchanged since a rewrite by the same request" + timesAttainable() + notCounted();
      case ALREADY_WRITTEN -> "written by an unfinished rewrite by the same request, which goes on with the other files";
      case TOO_FEW_SMALL ->
          words(
              "below min-file-size-bytes %,d, but fewer than min-input-files %,d and together at most target-file-size-bytes %,d,"
                  + " or a rewrite would not reduce their number",
              "min_file_size_bytes", "min_input_files", "target_file_size_bytes");
      case SIZE_IN_RANGE ->
          words(
              "size between min-file-size-bytes %,d and max-file-size-bytes %,d, and no deletes above delete-file-threshold or"
                  + " delete-ratio-threshold",
              "min_file_size_bytes", "max_file_size_bytes");
      case OTHER_SPEC_UNKNOWN ->
          "of another partition spec than new files, so the gain of a rewrite is unknown: set rewrite-old-specs to rewrite them";
      case SCAN_RATIO_LOW ->
          "%s costs %s today and would cost %s after a full rewrite".formatted(filter(), cost("before"), cost("attainable"))
              + (number("attainable") > number("before")
                  ? ", where opening a file counts as 4 MiB by default: set rewrite-all to rewrite nevertheless"
                  : ": too small a gain by max-scan-ratio %s and min-input-files".formatted(maxScanRatio()))
              + notCounted();
      case GAIN_TOO_SMALL ->
          ratio() + ", but no rewrite saves enough within the cap of 17 written bytes for each added byte" + notCounted();
      case NOT_WORTH_ADDING -> "adding them to the rewrite would save too little for their bytes";
      case NOT_IN_PLAN -> "not in the given plan";
      case MAX_FILES_TO_REWRITE -> words("max-files-to-rewrite is %,d", "max_files_to_rewrite");
      case NO_GAIN -> "%s is not predicted to cost less: %s today, %s after".formatted(filter(), cost("before"), cost("predicted"));
      default -> code + " " + parameters;
    };
  }

  /** The options that a file group was above. */
  private String bounds() {
    return parameters.keySet().stream()
        .filter(name -> name.startsWith("max_file_group"))
        .map(name -> name.replace('_', '-') + words(" %,d", name))
        .collect(Collectors.joining(" and "));
  }

  private String words(String format, String... names) {
    return String.format(Locale.ROOT, format, List.of(names).stream().map(parameters::get).toArray());
  }

  private String files() {
    return files((long) number("files"));
  }

  private String ratio() {
    return "%s costs %s, too much by max-scan-ratio %s (attainable: %s)".formatted(filter(), cost("before"), maxScanRatio(), cost("attainable"));
  }

  private String timesAttainable() {
    double attainable = number("attainable");
    return attainable == 0
        ? ""
        : String.format(
            Locale.ROOT, "; %s costs %s, %.2f times the attainable %s", filter(), cost("before"), number("before") / attainable, cost("attainable"));
  }

  public String maxScanRatio() {
    return BigDecimal.valueOf(number("max_scan_ratio")).stripTrailingZeros().toPlainString();
  }

  private String filter() {
    return "queries".equals(parameters.get("over")) ? "a query of the workload" : "a filter";
  }

  /** The columns that a cost leaves out, and the option that would count them. */
  private String notCounted() {
    if (!(parameters.get("not_counted") instanceof Map<?, ?> modes) || modes.isEmpty()) {
      return "";
    }
    return modes.entrySet().stream()
        .map(column -> "%s (metrics mode %s)".formatted(column.getKey(), column.getValue()))
        .collect(
            Collectors.joining(
                ", ", "; columns not counted, because new files get no bounds for them unless metrics-check is fix: ", ""));
  }

  public double number(String name) {
    return parameters.get(name) instanceof Number number ? number.doubleValue() : 0;
  }

  private String cost(String name) {
    return size(number(name));
  }

  /**
   * Says that filters skip nothing, because partitions become one file each; empty for tables that are too small even for a trial.
   *
   * @param bytes the bytes of all partitions
   * @param target the target size of new files in bytes
   */
  public static Optional<String> oneFile(int partitions, long bytes, long target) {
    if (partitions == 0 || bytes < partitions * LEAST_OF_TRIAL) {
      return Optional.empty();
    }
    String who = partitions == 1 ? "The files become one file" : "Each partition becomes one file";
    String what = partitions == 1 ? "nothing" : "nothing within it";
    return Optional.of(
        "%s at the target size of %s, so filters skip %s: for a trial, set options target-file-size-bytes=%d and rewrite-all=true."
            .formatted(who, size(target), what, TRIAL_SIZE));
  }

  /**
   * Says why nothing is rewritten: the three most frequent reasons for skipping data files.
   *
   * @param counts by reason, the data files that are skipped
   */
  public static String whyNothing(String table, Map<String, Integer> counts) {
    if (counts.isEmpty()) {
      return "Nothing to rewrite in %s: no data file can hold rows that match the filter.".formatted(table);
    }
    List<Map.Entry<String, Integer>> most =
        new TreeMap<>(counts).entrySet().stream().sorted(Comparator.comparing(reason -> -reason.getValue())).toList();
    String shown =
        most.stream()
            .limit(REASONS_SHOWN)
            .map(each -> "%s skipped (%s)".formatted(count(each.getValue(), "data file is", "data files are"), each.getKey()))
            .collect(Collectors.joining(", "));
    int others = most.stream().skip(REASONS_SHOWN).mapToInt(Map.Entry::getValue).sum();
    return String.format(
        Locale.ROOT, "Nothing to rewrite in %s: %s%s.", table, shown, others == 0 ? "" : String.format(Locale.ROOT, ", %,d for other reasons", others));
  }

  /** Writes bytes in decimal units, rounded as Python does: from the exact binary value. */
  public static String size(double bytes) {
    double size = Math.rint(bytes);
    if (size < UNIT) {
      return size == 1 ? "1 byte" : "%.0f bytes".formatted(size);
    }
    int power = 0;
    for (size /= UNIT; size >= UNIT && power < UNITS.length() - 1; size /= UNIT) {
      power++;
    }
    return "%s %cB".formatted(rounded(size, 1), UNITS.charAt(power));
  }

  /** Writes a number of files. */
  public static String files(long number) {
    return count(number, "file", "files");
  }

  /** Writes a count and its noun. */
  public static String count(long number, String one, String several) {
    return String.format(Locale.ROOT, "%,d %s", number, number == 1 ? one : several);
  }

  /** Rounds as Python does. */
  public static String rounded(double number, int digits) {
    return String.format(Locale.ROOT, "%,." + digits + "f", new BigDecimal(number).setScale(digits, RoundingMode.HALF_EVEN));
  }
}
