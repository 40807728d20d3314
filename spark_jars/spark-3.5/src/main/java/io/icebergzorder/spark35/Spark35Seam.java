package io.icebergzorder.spark35;

import java.util.function.Consumer;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;

/**
 * Adds what Spark 3.5 needs, where CALL is Iceberg's own and not Spark's.
 *
 * <p>The rule must see a CALL before Iceberg's rule does. Named after Iceberg's extension, ours has the last word in
 * parsing and applies it there; named before, its rule comes first in the analysis.
 */
public final class Spark35Seam implements Consumer<SparkSessionExtensions> {
  @Override
  public void accept(SparkSessionExtensions extensions) {
    extensions.injectParser(
        new AbstractFunction2<SparkSession, ParserInterface, ParserInterface>() {
          @Override
          public ParserInterface apply(SparkSession session, ParserInterface parser) {
            return CallParser.around(parser, new CallRule(session));
          }
        });
    extensions.injectResolutionRule(
        new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new CallRule(session);
          }
        });
  }
}
