package io.icebergzorder.spark35;

import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.SparkLine;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.JavaConverters;

/** Spark 3.5, see {@link SparkLine}. */
public final class Spark35Line implements SparkLine {
  @Override
  public SparkSession cloneSession(SparkSession session) {
    return session.cloneSession();
  }

  @Override
  public List<String> parseName(SparkSession session, String name) throws AnalysisException {
    return SparkInternals.list(session.sessionState().sqlParser().parseMultipartIdentifier(name), String.class);
  }

  @Override
  public Expression resolve(SparkSession session, String quotedTable, String where) throws AnalysisException {
    return SparkExpressionConverter.collectResolvedSparkExpression(session, quotedTable, where);
  }

  @Override
  public <T extends TreeNode<T>> List<T> children(T node, Class<T> type) {
    return SparkInternals.list(node.children(), type);
  }

  @Override
  public Expression withChildren(Expression expression, List<Expression> children) {
    return expression.withNewChildren(SparkInternals.seq(children));
  }

  @Override
  public Dataset<Row> withColumns(Dataset<Row> rows, StructType columns) {
    DataSourceV2Relation relation = (DataSourceV2Relation) rows.queryExecution().analyzed();
    List<AttributeReference> output = new ArrayList<>(SparkInternals.list(relation.output(), AttributeReference.class));
    for (StructField column : columns.fields()) {
      output.add(
          new AttributeReference(
              column.name(), column.dataType(), false, Metadata.empty(), NamedExpression.newExprId(), SparkInternals.seq(List.of())));
    }
    DataSourceV2Relation with =
        relation.copy(relation.table(), SparkInternals.seq(output), relation.catalog(), relation.identifier(), relation.options());
    return Dataset.ofRows(rows.sparkSession(), with);
  }

  @Override
  public void addLastRule(ExperimentalMethods methods, Rule<LogicalPlan> rule) {
    if (!methods.extraOptimizations().contains(rule)) {
      List<Rule<LogicalPlan>> rules = new ArrayList<>(JavaConverters.seqAsJavaList(methods.extraOptimizations()));
      rules.add(rule);
      methods.extraOptimizations_$eq(SparkInternals.seq(rules));
    }
  }

  @Override
  public List<Scan> scans(QueryExecution query) {
    List<Scan> scans = new ArrayList<>();
    // Before plug-ins put operators of their own in the place of Spark's: those read what these would.
    for (SparkPlan leaf : SparkInternals.list(query.sparkPlan().collectLeaves(), SparkPlan.class)) {
      scans.add(leaf instanceof BatchScanExec scan ? scan.scan() : null);
    }
    return scans;
  }
}
