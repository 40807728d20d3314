package io.icebergzorder.spark4;

import io.icebergzorder.spark.joins.JoinPruning;
import io.icebergzorder.spark.sql.ParsedPlans;
import java.util.function.Consumer;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;

/**
 * Adds the rule of Spark 4.
 *
 * <p>It goes among the hint resolution rules, the first that Spark applies: by the time of the ordinary resolution rules
 * a CALL has already been executed. Sessions with Hive support ignore hint resolution rules in older releases of Spark
 * 4.0 and 4.1 (SPARK-59081: 4.0.2 and 4.1.1 do, 4.0.5 and 4.1.4 do not), so in those sessions the rule is applied to what
 * was parsed, too; where both apply it, the second finds nothing left to do.
 */
public final class Spark4Seam implements Consumer<SparkSessionExtensions> {
  @Override
  public void accept(SparkSessionExtensions extensions) {
    extensions.injectHintResolutionRule(ProcedureRule::new);
    extensions.injectParser((session, parser) ->
        hasHiveSupport(session)
            ? ParsedPlans.around(parser, new ProcedureRule(session)::apply, text -> null)
            : parser);
    JoinPruning.addTo(extensions);
  }

  private static boolean hasHiveSupport(SparkSession session) {
    return session.sparkContext().getConf().get("spark.sql.catalogImplementation", "in-memory").equals("hive");
  }
}
