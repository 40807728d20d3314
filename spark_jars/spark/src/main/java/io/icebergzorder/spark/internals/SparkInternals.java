package io.icebergzorder.spark.internals;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RemoveDanglingDeleteFiles;
import org.apache.iceberg.spark.actions.SparkActions;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNaN;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.PartialFunction;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * The private names of Spark and Iceberg that a rewrite uses. {@link SparkLine} holds the names that differ between lines of Spark. Names
 * that differ between versions of Iceberg are looked up; a missing one is a {@link LinkageError} before anything is written.
 */
public final class SparkInternals {
  private static final String REWRITE_TABLE = "org.apache.iceberg.spark.source.SparkRewriteTable";
  private static final String TASK_COMMIT = "org.apache.iceberg.spark.source.SparkWrite$TaskCommit";

  private SparkInternals() {}

  /** Loaded where it is used: what executors call here is the same on every line. */
  private static final class Line {
    static final SparkLine CURRENT = load();

    private static SparkLine load() {
      boolean isSpark3 = org.apache.spark.package$.MODULE$.SPARK_VERSION().startsWith("3.");
      String line = isSpark3 ? "io.icebergzorder.spark35.Spark35Line" : "io.icebergzorder.spark4.Spark4Line";
      try {
        return (SparkLine) Class.forName(line).getDeclaredConstructor().newInstance();
      } catch (ReflectiveOperationException e) {
        throw missing(SparkLine.class, line, e);
      }
    }
  }

  static SparkLine line() {
    return Line.CURRENT;
  }

  /** How many tasks run at the same time; with dynamic allocation, what executors to come may run, as in Iceberg's scans. */
  public static int parallelism(SparkSession session) {
    int now = session.sparkContext().defaultParallelism();
    boolean isDynamic = Boolean.parseBoolean(session.conf().get("spark.dynamicAllocation.enabled", "false"));
    return isDynamic ? Math.max(now, session.sessionState().conf().numShufflePartitions()) : now;
  }

  /** A column's name as Spark reads it as one part, dots in it or not. */
  public static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }

  /** The parts of a table's name, without the quotes. */
  public static List<String> parseName(SparkSession session, String name) throws AnalysisException {
    return line().parseName(session, name);
  }

  public static org.apache.iceberg.expressions.Expression icebergExpression(
      SparkSession session, String quotedTable, String where) throws AnalysisException {
    return SparkExpressionConverter.convertToIcebergExpression(expressible(line().resolve(session, quotedTable, where)));
  }

  // Spark tells its sources of x <=> NaN, which Iceberg takes for its own is_nan, and not of isnan(x). NOT x <=> y, which
  // would become the same as x <> y, becomes x IS NULL OR x <> y: so a comparison turned around is never true of NULL.
  private static Expression expressible(Expression condition) {
    if (condition instanceof IsNaN isNan) {
      DataType type = isNan.child().dataType();
      Object nan = type.equals(DataTypes.FloatType) ? (Object) Float.NaN : (Object) Double.NaN;
      return new EqualNullSafe(isNan.child(), new Literal(nan, type));
    }
    List<Expression> children = children(condition);
    List<Expression> expressible = children.stream().map(SparkInternals::expressible).toList();
    if (condition instanceof Not && expressible.get(0) instanceof EqualNullSafe equal) {
      Expression column = equal.left() instanceof Literal ? equal.right() : equal.left();
      return new Or(new IsNull(column), new Not(new EqualTo(equal.left(), equal.right())));
    }
    return expressible.equals(children) ? condition : line().withChildren(condition, expressible);
  }

  /** A staged scan with the columns {@code _file} (text) and {@code _pos} (long) besides its own. */
  public static Dataset<Row> withFileAndPosition(Dataset<Row> staged) {
    // By hand: of a table with row lineage Spark may offer no metadata column but the lineage.
    StructType columns =
        new StructType()
            .add(MetadataColumns.FILE_PATH.name(), DataTypes.StringType)
            .add(MetadataColumns.ROW_POSITION.name(), DataTypes.LongType);
    return line().withColumns(staged, columns);
  }

  /** A relation with another scan of the same table. */
  public static LogicalPlan withScan(DataSourceV2ScanRelation relation, Scan scan) {
    return withElement(relation, 1, scan);
  }

  /** The same scan, without ids of attributes in the relation that it was made from: Spark 3.5 and 4.0 leave them in a canonical plan. */
  public static LogicalPlan withoutIds(DataSourceV2ScanRelation relation) {
    return withElement(relation, 0, relation.relation().canonicalized());
  }

  /** A copy with another element; by reflection, because the types of its lists differ between lines. */
  private static LogicalPlan withElement(DataSourceV2ScanRelation relation, int place, Object element) {
    Object[] elements = IntStream.range(0, relation.productArity()).mapToObj(relation::productElement).toArray();
    elements[place] = element;
    return (LogicalPlan) relation.makeCopy(elements);
  }

  /** Adds a rule that a session's optimizer applies after Spark's own, unless the session has it. */
  public static void addLastRule(SparkSession session, Rule<LogicalPlan> rule) {
    line().addLastRule(session.sessionState().experimentalMethods(), rule);
  }

  /** Iceberg's Spark table that writes a staged file group. */
  public static org.apache.spark.sql.connector.catalog.Table stagedTable(Table table, String id) {
    try {
      return (org.apache.spark.sql.connector.catalog.Table) construct(Class.forName(REWRITE_TABLE), table, id);
    } catch (ClassNotFoundException e) {
      return (org.apache.spark.sql.connector.catalog.Table) construct(SparkTable.class, table, null, false, true);
    }
  }

  public static List<DataFile> files(WriterCommitMessage message) {
    try {
      return List.of((DataFile[]) filesOfTask().invoke(message));
    } catch (ReflectiveOperationException e) {
      throw missing(message.getClass(), "files", e);
    }
  }

  /** Checks that {@link #files} will find what it needs: in a task, its failure would be taken for one of the executor. */
  public static void checkTellsFiles() {
    filesOfTask();
  }

  private static Method filesOfTask() {
    try {
      Method files = Class.forName(TASK_COMMIT).getDeclaredMethod("files");
      files.setAccessible(true);
      return files;
    } catch (ReflectiveOperationException e) {
      throw missing(WriterCommitMessage.class, TASK_COMMIT, e);
    }
  }

  /** The scans of what this thread is executing; nothing, if that is no query. */
  static List<Scan> scansOfExecution(SparkSession session) {
    return execution(session).map(line()::scans).orElse(List.of());
  }

  /** The query or statement that this thread is executing. */
  public static Optional<QueryExecution> execution(SparkSession session) {
    String id = session.sparkContext().getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
    return Optional.ofNullable(id).map(each -> SQLExecution.getQueryExecution(Long.parseLong(each)));
  }

  public static List<Expression> children(Expression expression) {
    return line().children(expression, Expression.class);
  }

  public static List<LogicalPlan> children(LogicalPlan plan) {
    return line().children(plan, LogicalPlan.class);
  }

  public static List<Attribute> output(LogicalPlan plan) {
    return line().output(plan);
  }

  public static Collection<Attribute> attributes(AttributeSet attributes) {
    return JavaConverters.asJavaCollection(attributes);
  }

  /** The distinct values of expressions over the rows of a plan, as the columns of another. */
  public static LogicalPlan distinct(List<Expression> values, LogicalPlan of) {
    return line().distinct(values, of);
  }

  /** A condition by which a scan gets the values of a plan's only column as keys of its own column. A job of its own collects them. */
  public static Expression keys(Attribute column, LogicalPlan giving) {
    return line().keys(column, giving);
  }

  /** The same for one of the values that a join's broadcast side is looked up by; true if Spark does not broadcast that side. */
  public static Expression keysOfBroadcast(Attribute column, LogicalPlan broadcast, List<Expression> values, int place) {
    return line().keysOfBroadcast(column, broadcast, values, place);
  }

  /** The plans of the subqueries in a node's expressions, without those that Spark has added to hand on the keys of joins. */
  public static Stream<LogicalPlan> subqueries(LogicalPlan plan) {
    return plansIn(plan, each -> !(each instanceof DynamicPruningSubquery));
  }

  /** The plans that Spark has copied into a node's expressions to hand on the keys of joins. */
  public static Stream<LogicalPlan> copies(LogicalPlan plan) {
    return plansIn(plan, DynamicPruningSubquery.class::isInstance);
  }

  private static Stream<LogicalPlan> plansIn(LogicalPlan plan, Predicate<Expression> isOfKind) {
    List<LogicalPlan> found = new ArrayList<>();
    withExpressions(
        plan,
        each -> {
          if (each instanceof PlanExpression<?> subquery && subquery.plan() instanceof LogicalPlan of && isOfKind.test(each)) {
            found.add(of);
          }
          return each;
        });
    return found.stream();
  }

  /** A plan with other nodes in the place of its own, from the leaves up. */
  public static LogicalPlan changed(LogicalPlan plan, UnaryOperator<LogicalPlan> change) {
    return (LogicalPlan) plan.transformUp(function(change));
  }

  /** A node with other expressions in the place of its own; its children remain. */
  public static LogicalPlan withExpressions(LogicalPlan node, UnaryOperator<Expression> change) {
    return node.containsPattern(TreePattern.PLAN_EXPRESSION()) ? (LogicalPlan) node.transformExpressions(function(change)) : node;
  }

  public static <T> AbstractFunction1<T, Object> test(Predicate<T> test) {
    return new AbstractFunction1<>() {
      @Override
      public Object apply(T each) {
        return test.test(each);
      }
    };
  }

  private static <T> PartialFunction<T, T> function(UnaryOperator<T> change) {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(T each) {
        return true;
      }

      @Override
      public T apply(T each) {
        return change.apply(each);
      }
    };
  }

  /** Which staged tasks Iceberg's staged scan reads. */
  static String taskSetId(Scan staged) {
    try {
      Field id = staged.getClass().getDeclaredField("taskSetId");
      id.setAccessible(true);
      return (String) id.get(staged);
    } catch (ReflectiveOperationException e) {
      throw missing(staged.getClass(), "taskSetId", e);
    }
  }

  public static <T> List<T> list(Object seq, Class<T> of) {
    return JavaConverters.seqAsJavaList((Seq<?>) seq).stream().map(of::cast).toList();
  }

  /** A list as a Scala sequence of the kind that methods take: immutable, which serves 2.12 and 2.13. */
  public static <T> scala.collection.immutable.List<T> seq(List<T> list) {
    return JavaConverters.asScalaBuffer(list).toList();
  }

  /** Makes an object by the constructor that takes such arguments. */
  public static Object construct(Class<?> owner, Object... arguments) {
    for (Constructor<?> constructor : owner.getConstructors()) {
      if (fits(constructor.getParameterTypes(), arguments)) {
        try {
          return constructor.newInstance(arguments);
        } catch (InvocationTargetException e) {
          throw SparkInternals.<RuntimeException>unchecked(e.getCause());
        } catch (ReflectiveOperationException e) {
          throw missing(owner, "constructor", e);
        }
      }
    }
    throw missing(owner, "constructor", null);
  }

  /** Iceberg's action that removes delete files of a branch that apply to nothing, in a snapshot with these properties. */
  public static RemoveDanglingDeleteFiles removalOfDanglingDeletes(
      SparkSession session, Table table, String branch, Map<String, String> properties) {
    RemoveDanglingDeleteFiles action = SparkActions.get(session).removeDanglingDeleteFiles(table);
    properties.forEach((key, value) -> configure(action, "snapshotProperty", key, value));
    if (!branch.equals(SnapshotRef.MAIN_BRANCH)) {
      configure(action, "toBranch", branch);
    }
    return action;
  }

  /** Calls a method with texts; the action's class is not public, and its interface lacks the method. */
  private static void configure(Object action, String method, Object... texts) {
    Class<?> owner = action.getClass();
    try {
      Method found = owner.getMethod(method, Collections.nCopies(texts.length, String.class).toArray(Class<?>[]::new));
      found.setAccessible(true);
      found.invoke(action, texts);
    } catch (ReflectiveOperationException e) {
      throw missing(owner, method, e);
    }
  }

  private static boolean fits(Class<?>[] parameters, Object[] arguments) {
    if (parameters.length != arguments.length) {
      return false;
    }
    for (int i = 0; i < parameters.length; i++) {
      boolean fits =
          parameters[i].isPrimitive()
              ? arguments[i] instanceof Boolean || arguments[i] instanceof Number
              : arguments[i] == null || parameters[i].isInstance(arguments[i]);
      if (!fits) {
        return false;
      }
    }
    return true;
  }

  /** Calls a method, and throws what it throws. */
  public static Object invoke(Object target, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private static LinkageError missing(Class<?> owner, String name, Throwable cause) {
    return new LinkageError(
        "Cannot rewrite data files by zorder, because this %s has no %s as expected"
            .formatted(owner.getName(), name), cause);
  }

  /** What a method threw is thrown as it is, checked or not. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E unchecked(Throwable thrown) throws E {
    throw (E) thrown;
  }
}
