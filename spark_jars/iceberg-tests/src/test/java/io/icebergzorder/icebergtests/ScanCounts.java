package io.icebergzorder.icebergtests;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Seq$;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** Counts the scans that every session plans: which are the plugin's, and which of those take the keys of a join. */
public final class ScanCounts extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> implements SparkSessionExtensionsProvider {
  /** Where the classes of the plugin's scans are, which are proxies. */
  private static final String PLUGIN = "io.icebergzorder.spark.joins.";

  /** Each scan is met several times, since Spark plans a query node by node. */
  private static final Set<Scan> OURS = newSet();

  private static final Set<Scan> WITH_KEYS = newSet();
  private static final Set<Scan> OTHERS = newSet();

  private static Set<Scan> newSet() {
    return Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));
  }

  static void reset() {
    OURS.clear();
    WITH_KEYS.clear();
    OTHERS.clear();
  }

  static int ours() {
    return OURS.size();
  }

  static int withKeys() {
    return WITH_KEYS.size();
  }

  /** How many there are of each class. */
  static Map<String, Long> others() {
    synchronized (OTHERS) {
      return OTHERS.stream().collect(groupingBy(scan -> scan.getClass().getSimpleName(), TreeMap::new, counting()));
    }
  }

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectPlannerStrategy(
        new AbstractFunction1<>() {
          @Override
          public SparkStrategy apply(org.apache.spark.sql.SparkSession session) {
            return new Counting();
          }
        });
    return BoxedUnit.UNIT;
  }

  /** Spark asks it first for every node that it plans; it plans none. */
  private static final class Counting extends SparkStrategy {
    @Override
    @SuppressWarnings("unchecked")
    public Seq<SparkPlan> apply(LogicalPlan plan) {
      plan.foreach(
          new AbstractFunction1<>() {
            @Override
            public BoxedUnit apply(LogicalPlan node) {
              count(node);
              return BoxedUnit.UNIT;
            }
          });
      return (Seq<SparkPlan>) Seq$.MODULE$.empty();
    }
  }

  private static void count(LogicalPlan node) {
    if (node instanceof DataSourceV2ScanRelation relation) {
      (isOurs(relation) ? OURS : OTHERS).add(relation.scan());
    } else if (node instanceof Filter filter
        && filter.child() instanceof DataSourceV2ScanRelation relation
        && isOurs(relation)
        && hasKeys(filter.condition())) {
      WITH_KEYS.add(relation.scan());
    } else if (node instanceof StreamingDataSourceV2ScanRelation relation) {
      OTHERS.add(relation.scan());
    }
  }

  private static boolean isOurs(DataSourceV2ScanRelation relation) {
    return relation.scan().getClass().getName().startsWith(PLUGIN);
  }

  private static boolean hasKeys(Expression condition) {
    return condition.exists(
        new AbstractFunction1<>() {
          @Override
          public Object apply(Expression expression) {
            return expression instanceof DynamicPruningSubquery;
          }
        });
  }
}
