package io.icebergzorder.spark.spec;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What the user asked for. Missing arguments are null; missing options are an empty map. */
public record RewriteSpec(String table, String sortOrder, Map<String, String> options, String where, String branch, boolean likeBuiltin) {
  public RewriteSpec {
    options.forEach(RewriteSpec::checkGiven);
    // In the order as written, so that a plan is always told in the same words.
    options = Collections.unmodifiableMap(new LinkedHashMap<>(options));
  }

  private static void checkGiven(String name, String value) {
    if (value == null) {
      throw new IllegalArgumentException("Cannot set %s to NULL, because an option needs a value".formatted(name));
    }
  }
}
