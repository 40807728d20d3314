package io.icebergzorder.spark.internals;

import java.util.List;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.StructType;

/**
 * The code that differs between lines of Spark, compiled for each: Scala 2.12 and 2.13 have other sequences, and Spark 4 moved sessions and
 * data frames to a package of their own.
 */
public interface SparkLine {
  /** A session with the same settings and catalogs, whose own settings may be changed freely. */
  SparkSession cloneSession(SparkSession session);

  /** The parts of a table's name, without the quotes. */
  List<String> parseName(SparkSession session, String name) throws AnalysisException;

  /** A condition on a table, its names resolved. */
  Expression resolve(SparkSession session, String quotedTable, String where) throws AnalysisException;

  /** The children of an expression or a plan. */
  <T extends TreeNode<T>> List<T> children(T node, Class<T> type);

  List<Attribute> output(LogicalPlan plan);

  /** The distinct values of expressions over the rows of a plan, as the columns of another. */
  LogicalPlan distinct(List<Expression> values, LogicalPlan of);

  /** A condition by which a scan gets the values of a plan's only column as keys of its own column. A job of its own collects them. */
  Expression keys(Attribute column, LogicalPlan giving);

  /** The same for one of the values that a join's broadcast side is looked up by; true if Spark does not broadcast that side. */
  Expression keysOfBroadcast(Attribute column, LogicalPlan broadcast, List<Expression> values, int place);

  Expression withChildren(Expression expression, List<Expression> children);

  /** A data frame of one relation, with further columns that are not null. */
  Dataset<Row> withColumns(Dataset<Row> relation, StructType columns);

  /** Adds a rule to those that are applied last, unless it is there. */
  void addLastRule(ExperimentalMethods methods, Rule<LogicalPlan> rule);

  /** The scans at the leaves of a query's physical plan; null for a leaf that is none. */
  List<Scan> scans(QueryExecution query);
}
