package io.icebergzorder.spark.commit;

import io.icebergzorder.spark.internals.Failures;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateProperties;

/** Sets properties of a table, in a commit of their own. */
public final class PropertiesCommit {
  private PropertiesCommit() {}

  /** Sets properties; the others stay as they are, those that somebody else sets at the same time among them. */
  public static void set(Table table, Map<String, String> properties) {
    CommitAttempt attempt = new CommitAttempt(table, null, (base, replacement) -> {});
    try {
      UpdateProperties update = attempt.table().updateProperties();
      properties.forEach(update::set);
      update.commit();
    } catch (RuntimeException e) {
      String what =
          properties.entrySet().stream()
              .map(each -> each.getKey() + " = '" + each.getValue() + "'")
              .collect(Collectors.joining(", "));
      if (attempt.mayBeCommitted()) {
        throw new UnknownCommitException(
            ("Cannot tell whether %s was set on %s, because the catalog gave no clear answer. Nothing else was done: look at the"
                    + " table's properties.")
                .formatted(what, table.name()),
            e);
      }
      throw new RuntimeException(
          "Cannot set %s on %s, because %s. Nothing else was done."
              .formatted(what, table.name(), Failures.rootMessage(e).strip().replaceFirst("\\.$", "")),
          e);
    }
  }
}
