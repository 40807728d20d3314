package io.icebergzorder.core.select;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The key of a request: a rewrite skips files that an earlier rewrite with the same key has completed. */
public final class RequestKey {
  /** Options that affect how a rewrite runs, but not its result. */
  private static final Pattern OF_ONE_RUN =
      Pattern.compile(
          "dry-run|max-concurrent-file-group-rewrites|max-file-group-size-bytes|max-files-to-rewrite|memory-limit-bytes|min-age-seconds"
              + "|on-conflict|partial-progress[.].*|remove-dangling-deletes|rewrite-all|rewrite-job-order|sample-seed|spill-directory"
              + "|use-starting-sequence-number");

  private static final int KEY_BYTES = 8;

  /** As Python sorts texts. */
  private static final Comparator<String> BY_CODE_POINTS =
      Comparator.comparing(text -> text.getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned);

  private RequestKey() {}

  /** Makes the key of a rewrite: names may be those of other columns in another schema, and properties tell how files are written. */
  public static String of(
      String sortOrder, String where, int schemaId, int specId, long target, Map<String, String> options, Map<String, String> properties) {
    Stream<String> written = lines(options, name -> !OF_ONE_RUN.matcher(name).matches());
    Stream<String> kept = lines(properties, name -> name.startsWith("write."));
    Stream<String> first = Stream.of(sortOrder, where, "schema " + schemaId, "spec " + specId, target + " bytes");
    return of(Stream.concat(first, Stream.concat(written, kept).sorted(BY_CODE_POINTS)));
  }

  private static Stream<String> lines(Map<String, String> values, Predicate<String> counts) {
    return values.keySet().stream().filter(counts).map(name -> name + "=" + values.get(name));
  }

  /** A query as it counts in the key of a workload: its filter, and how often it is asked. */
  public record WeightedFilter(String filter, double weight) {}

  /** Returns the key of a workload's queries, which replaces option {@code workload} in a request's key. */
  public static String ofWorkload(List<WeightedFilter> queries) {
    // One line per query with the bits of its weight, because the engines print numbers differently.
    Stream<String> lines = queries.stream().map(query -> "%016x\t%s".formatted(Double.doubleToRawLongBits(query.weight()), query.filter()));
    return of(Stream.concat(lines, Stream.of("")));
  }

  private static String of(Stream<String> lines) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      byte[] text = lines.collect(Collectors.joining("\n")).getBytes(StandardCharsets.UTF_8);
      return HexFormat.of().formatHex(digest.digest(text), 0, KEY_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
