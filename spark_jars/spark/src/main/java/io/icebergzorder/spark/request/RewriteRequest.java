package io.icebergzorder.spark.request;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a user asks for; what was not given is null, or an empty map of options.
 *
 * @param table name of the table, as written
 * @param sortOrder clustering columns, for example {@code zorder(a, b)}
 * @param options names and values, as written
 * @param where predicate that selects data files
 * @param branch branch to rewrite
 * @param likeBuiltin whether it stands for a sort of Iceberg's own: then its default size of files holds, and files are rewritten
 *     whether or not that is predicted to pay
 */
public record RewriteRequest(
    String table,
    String sortOrder,
    Map<String, String> options,
    String where,
    String branch,
    boolean likeBuiltin) {
  /** The strategy's name, as written in a CALL. */
  public static final String STRATEGY = "zorder";

  /**
   * Takes a copy of the options.
   *
   * @throws IllegalArgumentException if one of them is null
   */
  public RewriteRequest {
    options.forEach(RewriteRequest::checkGiven);
    // In the order as written, so that a plan is always told in the same words.
    options = Collections.unmodifiableMap(new LinkedHashMap<>(options));
  }

  private static void checkGiven(String name, String value) {
    if (value == null) {
      throw new IllegalArgumentException(String.format("Cannot set %s to NULL, because an option needs a value", name));
    }
  }
}
