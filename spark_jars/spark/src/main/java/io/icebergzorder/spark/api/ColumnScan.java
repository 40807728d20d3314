package io.icebergzorder.spark.api;

import io.icebergzorder.core.metrics.ScanMeasurement.FilterRead;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/**
 * The reads of a filter {@code column = value} on a table, or on the files that may match {@code where}: a share of the bytes in [0, 1] and
 * a number of files. Both are averages over values of the same rows: sampled rows of the rewritten file groups, and rows spread between the
 * bounds of the other files.
 *
 * @param column the column's name
 * @param before the share before the rewrite
 * @param predicted the share after it, as predicted
 * @param actual the share after it; empty if nothing was committed
 * @param filesBefore the files before it
 * @param filesPredicted the files after it, as predicted
 * @param filesActual the files after it; empty if nothing was committed
 */
public record ColumnScan(
    String column,
    OptionalDouble before,
    OptionalDouble predicted,
    OptionalDouble actual,
    OptionalDouble filesBefore,
    OptionalDouble filesPredicted,
    OptionalDouble filesActual) {
  static List<ColumnScan> of(TableReads before, TableReads predicted, TableReads actual) {
    List<TableReads> all = List.of(before, predicted, actual);
    return before.byColumn().keySet().stream()
        .map(column -> {
          List<OptionalDouble> shares = all.stream().map(each -> figure(each, column, FilterRead::fraction)).toList();
          List<OptionalDouble> files = all.stream().map(each -> figure(each, column, FilterRead::files)).toList();
          return new ColumnScan(column, shares.get(0), shares.get(1), shares.get(2), files.get(0), files.get(1), files.get(2));
        })
        .toList();
  }

  private static OptionalDouble figure(TableReads reads, String column, ToDoubleFunction<FilterRead> of) {
    FilterRead read = reads.byColumn().get(column);
    return read == null ? OptionalDouble.empty() : OptionalDouble.of(of.applyAsDouble(read));
  }
}
