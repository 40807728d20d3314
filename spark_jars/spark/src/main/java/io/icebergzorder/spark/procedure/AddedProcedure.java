package io.icebergzorder.spark.procedure;

import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/** A procedure that Iceberg does not have. */
public non-sealed interface AddedProcedure extends ProcedureDefinition {
  /** What it does, in one line. */
  String description();

  /** What it takes; required parameters first. */
  List<CallArguments.Parameter> parameters();

  /** Calls it. */
  List<Object[]> call(SparkSession session, TableCatalog catalog, CallArguments arguments);
}
