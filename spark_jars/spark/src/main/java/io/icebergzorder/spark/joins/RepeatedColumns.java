package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.PlannedTasks;
import io.icebergzorder.spark.internals.SparkInternals;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.DenseRank;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Rank;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.plans.logical.WindowGroupLimit;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegralType;

/**
 * Finds the repeatable columns of a query: every run of it gives the same tuples of them, each as often. A query has none if what it reads
 * may change between runs, if it takes an arbitrary part of its rows (LIMIT), or if it has a node that is not known here. A column is not
 * repeatable if it depends on the order in which rows arrive: of {@code row_number() OVER (PARTITION BY key ORDER BY time) = 1}, where rows
 * of equal {@code time} may swap, only {@code key}, {@code time} and the number are.
 */
final class RepeatedColumns {
  /** Why the query has no columns, or not those that are needed. */
  private String reason = "no column of the source that it is compared with is certain to have the same values in a second run";

  /** The ids of the columns; nothing if not even the number of rows is the same. */
  Optional<Set<ExprId>> of(LogicalPlan plan) {
    // The job for the keys is in one of Spark's few threads for subqueries. Subqueries in it need more of them: all may wait for one another.
    if (Stream.concat(SparkInternals.subqueries(plan), SparkInternals.copies(plan)).findAny().isPresent()) {
      reason = "the source has a subquery, which could wait for ever for a thread of Spark";
      return Optional.empty();
    }
    List<LogicalPlan> children = SparkInternals.children(plan);
    if (children.isEmpty()) {
      return isRepeatable(plan) ? Optional.of(ids(plan.outputSet())) : none(plan);
    }
    Set<ExprId> below = new HashSet<>();
    for (LogicalPlan child : children) {
      Optional<Set<ExprId>> columns = of(child);
      if (columns.isEmpty()) {
        return columns;
      }
      below.addAll(columns.get());
    }
    Set<ExprId> found = above(plan, below);
    return found == null ? none(plan) : Optional.of(found);
  }

  String reason() {
    return reason;
  }

  /** Whether an expression has the same values in rows that have the same of such columns. */
  static boolean depends(Expression expression, Set<ExprId> columns) {
    return expression.deterministic() && columns.containsAll(ids(expression.references()));
  }

  private Optional<Set<ExprId>> none(LogicalPlan plan) {
    reason = "the source has a node that may give other rows in a second run: %s".formatted(plan.nodeName());
    return Optional.empty();
  }

  /** The columns of a node; null if its rows may differ. */
  private static Set<ExprId> above(LogicalPlan plan, Set<ExprId> below) {
    if (plan instanceof Project) {
      return computed(elements(plan, 0), below);
    } else if (plan instanceof Filter filter) {
      return depends(filter.condition(), below) ? below : null;
    } else if (plan instanceof Join join) {
      return join.condition().forall(SparkInternals.test(each -> depends((Expression) each, below))) ? below : null;
    } else if (plan instanceof Aggregate) {
      return ofAggregate(elements(plan, 0), elements(plan, 1), below);
    } else if (plan instanceof Window) {
      return ofWindow(elements(plan, 0), elements(plan, 1), elements(plan, 2), below);
    } else if (plan instanceof WindowGroupLimit) {
      return ranked(List.of(), elements(plan, 0), elements(plan, 1), below);
    } else if (plan instanceof Generate generate) {
      return depends((Expression) generate.generator(), below) ? with(below, elements(plan, 4)) : null;
    } else if (plan instanceof Union) {
      return ofUnion(plan, below);
    }
    boolean keepsRows =
        plan instanceof Sort || plan instanceof SubqueryAlias || plan instanceof RepartitionOperation || plan instanceof RebalancePartitions;
    return keepsRows ? below : null;
  }

  /** Those of computed columns that depend on such columns alone. */
  private static Set<ExprId> computed(List<Expression> named, Set<ExprId> below) {
    return named.stream().filter(each -> isComputedFrom(each, below)).map(RepeatedColumns::id).collect(Collectors.toSet());
  }

  private static Set<ExprId> ofAggregate(List<Expression> grouping, List<Expression> named, Set<ExprId> below) {
    if (!grouping.stream().allMatch(each -> depends(each, below))) {
      return null;
    }
    Set<ExprId> same = new HashSet<>(below);
    grouping.stream().filter(each -> !isSameIfEqual(each)).forEach(each -> same.removeAll(ids(each.references())));
    return computed(named, same);
  }

  /** Whether equal values are the same: not so 0.0 and -0.0, or texts of other collations, of which a group keeps the one that comes first. */
  private static boolean isSameIfEqual(Expression value) {
    DataType type = value.dataType();
    return type.equals(DataTypes.StringType)
        || type instanceof IntegralType
        || type instanceof DecimalType
        || type.equals(DataTypes.DateType)
        || type.equals(DataTypes.TimestampType)
        || type.equals(DataTypes.TimestampNTZType);
  }

  private static boolean isComputedFrom(Expression named, Set<ExprId> below) {
    return depends(named, below) && !named.exists(SparkInternals.test(each -> each instanceof AggregateExpression of && !isExact(of)));
  }

  /** Others are not looked at; sums of floats depend on the order of rows. */
  private static boolean isExact(AggregateExpression aggregate) {
    Expression function = aggregate.aggregateFunction();
    return function instanceof Count || (function instanceof Min || function instanceof Max) && isSameIfEqual(function);
  }

  private static Set<ExprId> ofWindow(List<Expression> functions, List<Expression> partition, List<Expression> order, Set<ExprId> below) {
    boolean isRank =
        functions.stream()
            .allMatch(
                each ->
                    each instanceof Alias alias
                        && alias.child() instanceof WindowExpression over
                        && (over.windowFunction() instanceof RowNumber
                            || over.windowFunction() instanceof Rank
                            || over.windowFunction() instanceof DenseRank));
    // Other window functions keep all rows; what they compute is not taken for repeatable.
    return isRank ? ranked(functions, partition, order, below) : below;
  }

  /** Partition, order and rank of ranked rows. Rows that are equal in their order may swap, so no other column is repeatable. */
  private static Set<ExprId> ranked(List<Expression> ranks, List<Expression> partition, List<Expression> order, Set<ExprId> below) {
    if (!Stream.concat(partition.stream(), order.stream()).allMatch(each -> depends(each, below))) {
      return null;
    }
    Stream<Expression> ordered = order.stream().map(each -> ((SortOrder) each).child());
    Stream<Expression> all = Stream.of(partition.stream(), ordered, ranks.stream()).flatMap(each -> each);
    return with(Set.of(), all.filter(each -> each instanceof NamedExpression && isSameIfEqual(each)).toList());
  }

  private static Set<ExprId> ofUnion(LogicalPlan union, Set<ExprId> below) {
    List<List<Attribute>> outputs = SparkInternals.children(union).stream().map(SparkInternals::output).toList();
    List<Attribute> output = SparkInternals.output(union);
    return IntStream.range(0, output.size())
        .filter(i -> outputs.stream().allMatch(each -> below.contains(each.get(i).exprId())))
        .mapToObj(i -> output.get(i).exprId())
        .collect(Collectors.toSet());
  }

  /** Whether every run reads the same rows from a leaf: from a snapshot, from files that have been listed, from a cache, or its own. */
  private static boolean isRepeatable(LogicalPlan leaf) {
    if (leaf instanceof DataSourceV2ScanRelation relation) {
      return relation.relation().table() instanceof SparkTable table
          && !(table.table() instanceof BaseMetadataTable)
          // Iceberg answers aggregates by rows of its own.
          && (relation.scan() instanceof LocalScan || PlannedTasks.plans(PrunableScan.icebergScan(relation.scan())));
    }
    if (leaf instanceof LogicalRelation relation) {
      return relation.relation() instanceof HadoopFsRelation files && files.location() instanceof PartitioningAwareFileIndex;
    }
    return leaf instanceof LocalRelation || leaf instanceof OneRowRelation || leaf instanceof Range || leaf instanceof InMemoryRelation;
  }

  private static Set<ExprId> with(Set<ExprId> columns, List<Expression> more) {
    return Stream.concat(columns.stream(), more.stream().map(RepeatedColumns::id)).collect(Collectors.toSet());
  }

  private static ExprId id(Expression named) {
    return ((NamedExpression) named).exprId();
  }

  private static Set<ExprId> ids(AttributeSet attributes) {
    return SparkInternals.attributes(attributes).stream().map(Attribute::exprId).collect(Collectors.toSet());
  }

  private static List<Expression> elements(LogicalPlan plan, int place) {
    return SparkInternals.list(plan.productElement(place), Expression.class);
  }
}
