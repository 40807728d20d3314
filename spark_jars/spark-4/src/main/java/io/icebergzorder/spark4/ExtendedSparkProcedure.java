package io.icebergzorder.spark4;

import io.icebergzorder.spark.procedure.CallArguments;
import io.icebergzorder.spark.procedure.ExtendedProcedure;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** A procedure of Iceberg's that does more, as Spark 4 calls it; what it does not do more is Iceberg's. */
record ExtendedSparkProcedure(TableCatalog catalog, ExtendedProcedure definition, UnboundProcedure iceberg)
    implements UnboundProcedure {
  @Override
  public String name() {
    return iceberg.name();
  }

  @Override
  public String description() {
    return iceberg.description();
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    return new Bound(catalog, definition, iceberg.bind(inputType));
  }

  private record Bound(TableCatalog catalog, ExtendedProcedure definition, BoundProcedure iceberg)
      implements BoundProcedure {
    @Override
    public String name() {
      return iceberg.name();
    }

    @Override
    public String description() {
      return iceberg.description();
    }

    @Override
    public boolean isDeterministic() {
      return iceberg.isDeterministic();
    }

    @Override
    public ProcedureParameter[] parameters() {
      return iceberg.parameters();
    }

    @Override
    public Iterator<Scan> call(InternalRow input) {
      Optional<List<Object[]>> rows = definition.call(SparkSession.active(), catalog, arguments(input));
      return rows.isPresent() ? Rows.of(definition.output(), rows.get()) : iceberg.call(input);
    }

    private CallArguments arguments(InternalRow input) {
      List<CallArguments.Parameter> parameters =
          Arrays.stream(parameters())
              .map(each -> new CallArguments.Parameter(each.name(), each.dataType(), each.defaultValue() == null))
              .toList();
      return new CallArguments(parameters, input);
    }
  }
}
