package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Reason;
import io.icebergzorder.core.metrics.ScanMeasurement.FilterRead;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What filters {@code column = value} read of the files of a table, or of those that the filter of a rewrite selects.
 *
 * @param files how many files there are
 * @param bytes their bytes
 * @param byColumn by name, in the order of the columns; those without a value are left out
 */
public record TableReads(int files, long bytes, Map<String, FilterRead> byColumn) {
  /** Of nothing, because there is no file group. */
  public static final TableReads NONE = new TableReads(0, 0, Map.of());

  /** The scan fractions alone. */
  public Map<String, Double> fractions() {
    Map<String, Double> fractions = new LinkedHashMap<>();
    byColumn.forEach((column, read) -> fractions.put(column, read.fraction()));
    return Collections.unmodifiableMap(fractions);
  }

  /** What a filter on a column costs without planning, in bytes; NaN if that is not known. */
  double cost(String column, long openCost) {
    FilterRead read = byColumn.get(column);
    return read == null ? Double.NaN : read.fraction() * bytes + openCost * read.files();
  }

  /** Says what filters read before and after a rewrite, a sentence for each column. */
  public static List<String> texts(TableReads before, TableReads after) {
    return before.byColumn.keySet().stream().map(column -> text(column, before, after)).toList();
  }

  static String text(String column, TableReads before, TableReads after) {
    return "a filter on %s reads %s (was %s)".formatted(column, after.text(column), before.text(column));
  }

  private String text(String column) {
    FilterRead read = byColumn.get(column);
    if (read == null) {
      return "an unknown part";
    }
    String count = Reason.rounded(read.files(), read.files() >= 10 || Reason.rounded(read.files(), 1).endsWith(".0") ? 0 : 1);
    return String.format(Locale.ROOT, "%s in %s of %s", Reason.size(read.fraction() * bytes), count, Reason.files(files));
  }
}
