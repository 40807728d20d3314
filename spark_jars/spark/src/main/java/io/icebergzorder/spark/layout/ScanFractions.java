package io.icebergzorder.spark.layout;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.metrics.NewFiles;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.ResolvedSortOrder;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

/** Scan fractions of {@code column = value} by the name of the column, in the columns' order; those without a value are left out. */
public final class ScanFractions {
  private ScanFractions() {}

  /** Those that files of layouts are predicted to have; empty without a group. */
  public static Map<String, Double> predicted(KeptBounds kept, ResolvedSortOrder order, List<ScanPrediction.GroupSample> groups) {
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
  public static Map<String, Double> measured(ResolvedSortOrder order, List<ScanMeasurement.MeasuredGroup> groups) {
    return byColumn(order, groups.isEmpty(), i -> ScanMeasurement.of(groups, i));
  }

  private static Map<String, Double> byColumn(ResolvedSortOrder order, boolean isEmpty, IntToDoubleFunction ofColumn) {
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

  /** What filters read on average: by the weights of a workload's queries, else over the columns by theirs. NaN if there is nothing. */
  public static double mean(TablePlan plan, Map<String, Double> fractions, BytesRead read) {
    return plan.workload().map(workload -> read.mean(workload.weights())).orElseGet(() -> mean(plan.order(), fractions));
  }

  private static double mean(ResolvedSortOrder order, Map<String, Double> fractions) {
    double sum = 0;
    double weights = 0;
    List<ClusteringColumn> columns = order.named();
    for (int i = 0; i < columns.size(); i++) {
      Double fraction = fractions.get(columns.get(i).name());
      if (fraction != null) {
        double weight = order.weight(i);
        sum += weight * fraction;
        weights += weight;
      }
    }
    return sum / weights;
  }
}
