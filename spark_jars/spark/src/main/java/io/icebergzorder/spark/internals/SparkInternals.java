package io.icebergzorder.spark.internals;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.IsNaN;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import scala.Product;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.collection.immutable.Nil$;

/**
 * What the rewrite needs of Spark's and Iceberg's insides, on every Spark line.
 *
 * <p>The same methods are there on each, but under signatures that differ: Scala 2.12 and 2.13 have other sequences,
 * and Spark 4 moved sessions and data frames to a package of their own. So they are found by name and number of
 * arguments; one that is missing is a {@link LinkageError}, before anything is written.
 */
public final class SparkInternals {
  private static final String REWRITE_TABLE = "org.apache.iceberg.spark.source.SparkRewriteTable";
  private static final String TASK_COMMIT = "org.apache.iceberg.spark.source.SparkWrite$TaskCommit";

  private SparkInternals() {}

  /** A session with the same settings and catalogs, whose own settings may be changed freely. */
  static SparkSession cloneSession(SparkSession session) {
    return (SparkSession) call(session, "cloneSession");
  }

  /** How many tasks run at the same time; with dynamic allocation, what executors to come may run, as in Iceberg's scans. */
  public static int parallelism(SparkSession session) {
    int now = session.sparkContext().defaultParallelism();
    boolean isDynamic = Boolean.parseBoolean(session.conf().get("spark.dynamicAllocation.enabled", "false"));
    return isDynamic ? Math.max(now, session.sessionState().conf().numShufflePartitions()) : now;
  }

  /** The parts of a table's name, without the quotes. */
  public static List<String> parseName(SparkSession session, String name) throws AnalysisException {
    return list(call(session.sessionState().sqlParser(), "parseMultipartIdentifier", name), String.class);
  }

  public static Expression icebergExpression(SparkSession session, String quotedTable, String where) throws AnalysisException {
    Object resolved =
        callStatic(SparkExpressionConverter.class, "collectResolvedSparkExpression", session, quotedTable, where);
    return (Expression) callStatic(SparkExpressionConverter.class, "convertToIcebergExpression", expressible(resolved));
  }

  // Spark tells its sources of x <=> NaN, which Iceberg takes for its own is_nan, and not of isnan(x). NOT x <=> y, which
  // would become the same as x <> y, becomes x IS NULL OR x <> y: so a comparison turned around is never true of NULL.
  private static Object expressible(Object condition) {
    if (condition instanceof IsNaN isNan) {
      DataType type = isNan.child().dataType();
      Object nan = type.equals(DataTypes.FloatType) ? (Object) Float.NaN : (Object) Double.NaN;
      return construct(EqualNullSafe.class, isNan.child(), construct(Literal.class, nan, type));
    }
    List<Object> children = list(call(condition, "children"), Object.class);
    List<Object> expressible = children.stream().map(SparkInternals::expressible).toList();
    if (condition instanceof Not && expressible.get(0) instanceof EqualNullSafe equal) {
      Object column = equal.left() instanceof Literal ? equal.right() : equal.left();
      Object different = construct(Not.class, construct(EqualTo.class, equal.left(), equal.right()));
      return construct(Or.class, construct(IsNull.class, column), different);
    }
    return expressible.equals(children) ? condition : call(condition, "withNewChildren", seq(expressible));
  }

  /** A staged scan with the columns {@code _file} (text) and {@code _pos} (long) besides its own. */
  @SuppressWarnings("unchecked")
  public static Dataset<Row> withFileAndPosition(Dataset<Row> staged) {
    // By hand: of a table with row lineage Spark may offer no metadata column but the lineage.
    Object relation = call(call(staged, "queryExecution"), "analyzed");
    List<Object> output = new ArrayList<>(list(call(relation, "output"), Object.class));
    output.add(attribute(MetadataColumns.FILE_PATH.name(), DataTypes.StringType));
    output.add(attribute(MetadataColumns.ROW_POSITION.name(), DataTypes.LongType));
    // A relation is its table, its output, and what differs from line to line.
    Product fields = (Product) relation;
    Object[] values = new Object[fields.productArity()];
    Arrays.setAll(values, fields::productElement);
    values[1] = seq(output);
    return (Dataset<Row>)
        callStatic(staged.getClass(), "ofRows", call(staged, "sparkSession"), call(relation, "copy", values));
  }

  private static Object attribute(String name, DataType type) {
    return construct(
        AttributeReference.class, name, type, false, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Nil$.MODULE$);
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

  /** The scans at the leaves of a query's physical plan; null for a leaf that is none. */
  static List<Scan> scans(Dataset<Row> dataset) {
    return scansOf(call(dataset, "queryExecution"));
  }

  /** The same for what this thread is executing; nothing, if that is no query. */
  static List<Scan> scansOfExecution(SparkSession session) {
    String id = session.sparkContext().getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
    QueryExecution execution = id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
    return execution == null ? List.of() : scansOf(execution);
  }

  private static List<Scan> scansOf(Object queryExecution) {
    // Before plug-ins put operators of their own in the place of Spark's: those read what these would.
    Object plan = call(queryExecution, "sparkPlan");
    List<Scan> scans = new ArrayList<>();
    for (Object leaf : list(call(plan, "collectLeaves"), Object.class)) {
      scans.add(leaf instanceof BatchScanExec scan ? scan.scan() : null);
    }
    return scans;
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
  public static scala.collection.immutable.List<?> seq(List<?> list) {
    return JavaConverters.asScalaBuffer(list).toList();
  }

  /** Calls a method of an object, found by name and number of arguments. */
  private static Object call(Object target, String name, Object... arguments) {
    return invoke(target.getClass(), target, name, arguments);
  }

  private static Object callStatic(Class<?> owner, String name, Object... arguments) {
    return invoke(owner, null, name, arguments);
  }

  private static Object invoke(Class<?> owner, Object target, String name, Object[] arguments) {
    for (Method method : owner.getMethods()) {
      if (method.getName().equals(name) && fits(method.getParameterTypes(), arguments) && !method.isBridge()) {
        try {
          method.setAccessible(true);
          return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
          throw SparkInternals.<RuntimeException>unchecked(e.getCause());
        } catch (IllegalAccessException e) {
          throw missing(owner, name, e);
        }
      }
    }
    throw missing(owner, name, null);
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
