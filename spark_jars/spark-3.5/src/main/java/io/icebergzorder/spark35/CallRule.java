package io.icebergzorder.spark35;

import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.sql.Procedures;
import io.icebergzorder.spark.sql.RewriteDataFilesProcedure;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.NoSuchProcedureException;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.catalyst.plans.logical.CallArgument;
import org.apache.spark.sql.catalyst.plans.logical.CallStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.NamedArgument;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.iceberg.catalog.Procedure;
import org.apache.spark.sql.connector.iceberg.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.iceberg.catalog.ProcedureParameter;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Product;

/** Puts our {@link Procedures} into a CALL in an Iceberg catalog. Every other CALL is left for Iceberg. */
final class CallRule extends Rule<LogicalPlan> {
  private final transient SparkSession session;

  CallRule(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!(plan instanceof CallStatement)) {
      return plan;
    }
    Product call = (Product) plan;
    Procedures.NamedProcedure named = Procedures.find(session, SparkInternals.list(call.productElement(0), String.class));
    if (named == null || !(named.catalog() instanceof ProcedureCatalog catalog)) {
      return plan;
    }
    Procedure procedure = procedure(named, catalog);
    List<CallArgument> arguments = SparkInternals.list(call.productElement(1), CallArgument.class);
    return (LogicalPlan) SparkInternals.construct(Call.class, procedure, SparkInternals.seq(values(procedure, arguments)));
  }

  private static Procedure procedure(Procedures.NamedProcedure named, ProcedureCatalog catalog) {
    if (named.added() != null) {
      return new Added(named.tables(), named.added());
    }
    try {
      return new Extended(named.tables(), catalog.loadProcedure(named.identifier()));
    } catch (NoSuchProcedureException e) {
      throw new IllegalStateException(e);
    }
  }

  /** An expression for each parameter: what was given by name or by position, else NULL. */
  private static List<Expression> values(Procedure procedure, List<CallArgument> arguments) {
    ProcedureParameter[] parameters = procedure.parameters();
    Expression[] values = new Expression[parameters.length];
    List<String> wrong = new ArrayList<>();
    long named = arguments.stream().filter(NamedArgument.class::isInstance).count();
    if (named > 0 && named < arguments.size()) {
      wrong.add("named and positional arguments cannot be mixed");
    } else if (arguments.size() > parameters.length && named == 0) {
      wrong.add("there are too many arguments");
    } else {
      for (int i = 0; i < arguments.size(); i++) {
        int place = named > 0 ? place(parameters, name(arguments.get(i))) : i;
        if (place < 0) {
          wrong.add("there is no parameter '" + name(arguments.get(i)) + "'");
        } else if (values[place] != null) {
          wrong.add("'" + parameters[place].name() + "' is given twice");
        } else {
          values[place] = arguments.get(i).expr();
        }
      }
    }
    for (int i = 0; i < parameters.length && wrong.isEmpty(); i++) {
      if (values[i] == null && parameters[i].required()) {
        wrong.add("'" + parameters[i].name() + "' is missing");
      } else if (values[i] == null) {
        values[i] = new Literal(null, parameters[i].dataType());
      }
    }
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException("Cannot call %s, because %s".formatted(procedure.description(), String.join(", ", wrong)));
    }
    return List.of(values);
  }

  private static String name(CallArgument argument) {
    return ((NamedArgument) argument).name();
  }

  private static int place(ProcedureParameter[] parameters, String name) {
    for (int i = 0; i < parameters.length; i++) {
      if (parameters[i].name().equalsIgnoreCase(name)) {
        return i;
      }
    }
    return -1;
  }

  /** A procedure that Iceberg does not have. */
  private record Added(TableCatalog catalog, Procedures.AddedProcedure procedure) implements Procedure {
    @Override
    public ProcedureParameter[] parameters() {
      return Arrays.stream(procedure.parameters().fields()).map(Added::parameter).toArray(ProcedureParameter[]::new);
    }

    private static ProcedureParameter parameter(StructField field) {
      return field.nullable()
          ? ProcedureParameter.optional(field.name(), field.dataType())
          : ProcedureParameter.required(field.name(), field.dataType());
    }

    @Override
    public StructType outputType() {
      return procedure.output();
    }

    /** Its name, by which errors call it. */
    @Override
    public String description() {
      return procedure.name();
    }

    @Override
    public InternalRow[] call(InternalRow input) {
      return rows(Procedures.call(procedure, catalog, input));
    }
  }

  /** Iceberg's procedure that does more; what it does not do more is Iceberg's. */
  private record Extended(TableCatalog catalog, Procedure iceberg) implements Procedure {
    @Override
    public ProcedureParameter[] parameters() {
      return iceberg.parameters();
    }

    @Override
    public StructType outputType() {
      return iceberg.outputType();
    }

    @Override
    public String description() {
      return iceberg.description();
    }

    @Override
    public InternalRow[] call(InternalRow input) {
      Stream<StructField> fields =
          Arrays.stream(parameters()).map(each -> new StructField(each.name(), each.dataType(), true, Metadata.empty()));
      return RewriteDataFilesProcedure.call(catalog, fields, input)
          .map(CallRule::rows)
          .orElseGet(() -> iceberg.call(input));
    }
  }

  private static InternalRow[] rows(List<Object[]> rows) {
    return rows.stream().map(GenericInternalRow::new).toArray(InternalRow[]::new);
  }
}
