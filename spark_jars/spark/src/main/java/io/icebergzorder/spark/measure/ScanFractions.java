package io.icebergzorder.spark.measure;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.report.NewFiles;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.request.RowOrder;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

/** Scan fractions of {@code column = value} by the name of the column, in the columns' order; those without a value are left out. */
public final class ScanFractions {
  private ScanFractions() {}

  /** Those that files of layouts are predicted to have; empty without a group. */
  public static Map<String, Double> predicted(KeptBounds kept, RowOrder order, List<ScanPrediction.SampledGroup> groups) {
    List<ScanMeasurement.MeasuredGroup> planned = NewFiles.measured(groups, order.all());
    return byColumn(
        order,
        groups.isEmpty(),
        i -> {
          ClusteringColumn column = order.all().get(i);
          return kept.areKept(column)
              ? ScanMeasurement.of(planned, i, kept.kept(column))
              : ScanPrediction.withoutBounds(groups, i);
        });
  }

  /** Those that files have by their bounds; empty without a group. */
  public static Map<String, Double> measured(RowOrder order, List<ScanMeasurement.MeasuredGroup> groups) {
    return byColumn(order, groups.isEmpty(), i -> ScanMeasurement.of(groups, i));
  }

  private static Map<String, Double> byColumn(RowOrder order, boolean isEmpty, IntToDoubleFunction ofColumn) {
    Map<String, Double> fractions = new LinkedHashMap<>();
    List<ClusteringColumn> columns = order.all();
    for (int i = order.partition().size(); i < columns.size() && !isEmpty; i++) {
      double fraction = ofColumn.applyAsDouble(i);
      if (!Double.isNaN(fraction)) {
        fractions.put(columns.get(i).name(), fraction);
      }
    }
    return Collections.unmodifiableMap(fractions);
  }

  /** The mean over the columns, by their weights; those of the prefix weigh 1. NaN if there is none. */
  public static double mean(RowOrder order, Map<String, Double> fractions) {
    return mean(order, fractions, new double[0]);
  }

  /** The same for a region of a partition, whose columns weigh so many times as much; for all alike if there are no such numbers. */
  public static double mean(RowOrder order, Map<String, Double> fractions, double[] spans) {
    double sum = 0;
    double weights = 0;
    List<ClusteringColumn> columns = order.named();
    for (int i = 0; i < columns.size(); i++) {
      Double fraction = fractions.get(columns.get(i).name());
      if (fraction != null) {
        double weight = order.weight(i) * (spans.length == 0 ? 1 : spans[i]);
        sum += weight * fraction;
        weights += weight;
      }
    }
    return sum / weights;
  }
}
