package io.icebergzorder.spark4;

import io.icebergzorder.spark.procedure.Procedures;
import io.icebergzorder.spark.procedure.RewriteArguments;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** Iceberg's {@code rewrite_data_files}, with one strategy more; for every other strategy it is Iceberg's. */
final class RewriteProcedure implements UnboundProcedure {
  private final TableCatalog catalog;
  private final UnboundProcedure iceberg;

  RewriteProcedure(TableCatalog catalog, UnboundProcedure iceberg) {
    this.catalog = catalog;
    this.iceberg = iceberg;
  }

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
    return new Bound(catalog, iceberg.bind(inputType));
  }

  private record Bound(TableCatalog catalog, BoundProcedure iceberg) implements BoundProcedure {
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
      Object[] ours = Procedures.rewrite(catalog, arguments(parameters(), input));
      return ours == null ? iceberg.call(input) : new OneRow(Procedures.REWRITE_OUTPUT, ours).iterator();
    }
  }

  static RewriteArguments arguments(ProcedureParameter[] parameters, InternalRow input) {
    List<RewriteArguments.Parameter> named =
        Arrays.stream(parameters)
            .map(parameter -> new RewriteArguments.Parameter(parameter.name(), parameter.dataType()))
            .toList();
    return RewriteArguments.of(named, input);
  }
}
