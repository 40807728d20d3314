package io.icebergzorder.spark4;

import java.util.function.Consumer;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.runtime.AbstractFunction1;

/**
 * Adds the rule of Spark 4.
 *
 * <p>It goes among the hint resolution rules, the first that Spark applies: by the time of the ordinary resolution rules a
 * CALL has already been executed.
 */
public final class Spark4Seam implements Consumer<SparkSessionExtensions> {
  @Override
  public void accept(SparkSessionExtensions extensions) {
    extensions.injectHintResolutionRule(
        new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new ProcedureRule(session);
          }
        });
  }
}
