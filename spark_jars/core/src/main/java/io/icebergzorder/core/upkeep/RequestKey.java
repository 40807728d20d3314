package io.icebergzorder.core.upkeep;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** The key of what a rewrite is asked for: rewrites of one key would leave the same as it is. */
public final class RequestKey {
  /** What the table properties begin with that tell how files are written. */
  static final String WRITE = "write.";

  /** Options that change how a rewrite goes about it, and not how well it leaves files. */
  private static final Pattern OF_ONE_RUN =
      Pattern.compile(
          "dry-run|max-concurrent-file-group-rewrites|max-file-group-input-files|max-files-to-rewrite|memory-limit-bytes|min-age-seconds"
              + "|partial-progress[.].*|remove-dangling-deletes|rewrite-all|rewrite-job-order|sample-seed|spill-directory"
              + "|use-starting-sequence-number");

  private static final int KEY_BYTES = 8;

  /** As Python sorts texts. */
  private static final Comparator<String> BY_CODE_POINTS =
      Comparator.comparing(text -> text.getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned);

  private RequestKey() {}

  /**
   * Makes the key.
   *
   * @param sortOrder the sort order in full
   * @param where the filter as written, empty without one
   * @param schemaId the table's schema, for names may be those of other columns in another
   * @param specId the partition spec of new files
   * @param target the size that new files are to have, in bytes
   * @param options as written; those that only change how a rewrite goes about it do not count
   * @param properties the table's, of which those count that tell how files are written
   * @return 16 hexadecimal digits
   */
  public static String of(
      String sortOrder,
      String where,
      int schemaId,
      int specId,
      long target,
      Map<String, String> options,
      Map<String, String> properties) {
    List<String> written = new ArrayList<>();
    options.forEach((name, value) -> written.add(OF_ONE_RUN.matcher(name).matches() ? "" : name + "=" + value));
    properties.forEach((name, value) -> written.add(name.startsWith(WRITE) ? name + "=" + value : ""));
    List<String> lines = new ArrayList<>(List.of(sortOrder, where, "schema " + schemaId, "spec " + specId, target + " bytes"));
    written.stream().filter(line -> !line.isEmpty()).sorted(BY_CODE_POINTS).forEach(lines::add);
    return of(lines);
  }

  /**
   * A query as it counts in the key of a workload.
   *
   * @param filter its filter
   * @param weight how often it is asked
   */
  public record WeightedFilter(String filter, double weight) {}

  /**
   * The key of a workload's queries, which stands for option {@code workload} in that of a request: who has them laid elsewhere asks for
   * the same, and who changes the file for something else.
   *
   * @return 16 hexadecimal digits
   */
  public static String ofWorkload(List<WeightedFilter> queries) {
    // Of each a line with the bits of its weight, for the engines write numbers differently; the last one ends, too.
    List<String> lines = new ArrayList<>();
    queries.forEach(query -> lines.add("%016x\t%s".formatted(Double.doubleToRawLongBits(query.weight()), query.filter())));
    lines.add("");
    return of(lines);
  }

  /** A key of lines of text. */
  static String of(List<String> lines) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      return HexFormat.of().formatHex(digest.digest(String.join("\n", lines).getBytes(StandardCharsets.UTF_8)), 0, KEY_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
