package io.icebergzorder.spark.sample;

import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.measure.BytesRead;
import io.icebergzorder.spark.measure.ConditionReads;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.queries.Condition;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.IntStream;

/** The scan fractions of conditions among the files of a plan that is sampled, and among those that its layouts will make. */
public final class PredicateFractions {
  private PredicateFractions() {}

  /** The scan fraction of one condition, in [0, 1]. */
  public record Fraction(OptionalDouble before, OptionalDouble predicted) {
    /** Where there are no files. */
    public static final Fraction OF_NOTHING = new Fraction(OptionalDouble.empty(), OptionalDouble.empty());
  }

  /** Measures conditions, each in its place. Manifests are read again, and no data. */
  public static List<Fraction> of(TablePlan plan, FittedLayouts layouts, List<Condition> conditions) {
    if (layouts.groups().isEmpty()) {
      return conditions.stream().map(each -> Fraction.OF_NOTHING).toList();
    }
    ConditionReads reads = new ConditionReads(plan, conditions);
    KeptBounds kept = layouts.metrics().ofNewFiles();
    int count = conditions.size();
    BytesRead before = BytesRead.sum(count, reads.today(layouts.groups().keySet()).values().stream());
    BytesRead predicted =
        BytesRead.sum(
            count, layouts.groups().values().stream().map(each -> reads.predicted(each.group(), each.sampled(), kept)));
    return IntStream.range(0, count).mapToObj(i -> new Fraction(before.share(i), predicted.share(i))).toList();
  }
}
