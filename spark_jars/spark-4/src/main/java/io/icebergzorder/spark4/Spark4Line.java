package io.icebergzorder.spark4;

import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.SparkLine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.ListQuery;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
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
import scala.Option;
import scala.collection.JavaConverters;

/** Spark 4, see {@link SparkLine}. */
public final class Spark4Line implements SparkLine {
  private static final scala.collection.immutable.List<String> NO_TEXTS = SparkInternals.seq(List.of());
  private static final scala.collection.immutable.List<Expression> NONE = SparkInternals.seq(List.of());

  @Override
  public SparkSession cloneSession(SparkSession session) {
    return classic(session).cloneSession();
  }

  @Override
  public List<String> parseName(SparkSession session, String name) throws AnalysisException {
    return SparkInternals.list(session.sessionState().sqlParser().parseMultipartIdentifier(name), String.class);
  }

  @Override
  public Expression resolve(SparkSession session, String quotedTable, String where) throws AnalysisException {
    return SparkExpressionConverter.collectResolvedSparkExpression(classic(session), quotedTable, where);
  }

  @Override
  public <T extends TreeNode<T>> List<T> children(T node, Class<T> type) {
    return SparkInternals.list(node.children(), type);
  }

  @Override
  public List<Attribute> output(LogicalPlan plan) {
    return SparkInternals.list(plan.output(), Attribute.class);
  }

  @Override
  public LogicalPlan distinct(List<Expression> values, LogicalPlan of) {
    List<NamedExpression> columns = new ArrayList<>();
    for (Expression value : values) {
      columns.add(
          value instanceof Attribute column
              ? column
              : new Alias(value, "key", NamedExpression.newExprId(), NO_TEXTS, Option.empty(), NO_TEXTS));
    }
    return new Aggregate(SparkInternals.seq(values), SparkInternals.seq(columns), of, Option.empty());
  }

  @Override
  public Expression keys(Attribute column, LogicalPlan giving) {
    ListQuery query = new ListQuery(giving, NONE, NamedExpression.newExprId(), 1, NONE, Option.empty());
    return new DynamicPruningExpression(new InSubquery(SparkInternals.<Expression>seq(List.of(column)), query));
  }

  @Override
  public Expression keysOfBroadcast(Attribute column, LogicalPlan broadcast, List<Expression> values, int place) {
    return new DynamicPruningSubquery(
        column, broadcast, SparkInternals.seq(values), SparkInternals.seq(List.of(place)), true, NamedExpression.newExprId(), Option.empty());
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
    // Spark 4.1 has one field more than 4.0.
    Object[] fields = new Object[relation.productArity()];
    Arrays.setAll(fields, relation::productElement);
    fields[1] = SparkInternals.seq(output);
    return org.apache.spark.sql.classic.Dataset.ofRows(classic(rows.sparkSession()), relation.makeCopy(fields));
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

  private static org.apache.spark.sql.classic.SparkSession classic(SparkSession session) {
    return (org.apache.spark.sql.classic.SparkSession) session;
  }
}
