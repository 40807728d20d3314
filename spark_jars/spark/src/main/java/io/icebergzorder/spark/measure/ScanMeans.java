package io.icebergzorder.spark.measure;

import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.queries.Workload;
import io.icebergzorder.spark.request.RowOrder;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** What tells whether a rewrite pays: how much filters read on average, over the queries of a workload, or over the columns without one. */
public final class ScanMeans {
  private final RowOrder order;
  private final Optional<double[]> weights;

  /** Takes what a plan is for. */
  public ScanMeans(TablePlan plan) {
    this.order = plan.order();
    this.weights = plan.workload().map(Workload::weights);
  }

  /** What queries read of files is to be measured by: nothing without a workload. */
  public static ConditionReads reads(TablePlan plan) {
    return new ConditionReads(plan, plan.workload().map(Workload::conditions).orElse(List.of()));
  }

  /** The mean for a file group by some files. */
  public double of(Map<String, Double> fractions, BytesRead read) {
    return weights.map(read::mean).orElseGet(() -> ScanFractions.mean(order, fractions));
  }

  /** The mean for some file groups; parameters as for one, what is read of each by itself. */
  public double of(Map<String, Double> fractions, Stream<BytesRead> read) {
    return weights.map(each -> BytesRead.sum(each.length, read).mean(each)).orElseGet(() -> ScanFractions.mean(order, fractions));
  }

  /** What the mean is over, as messages have it. */
  public String over() {
    return weights.isPresent() ? "the queries of the workload" : "the columns";
  }
}
