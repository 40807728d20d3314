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

  /**
   * Calls it.
   *
   * @param session the session of the CALL
   * @param catalog the catalog whose procedure was called
   * @return rows of {@link #output}, as Spark holds values inside
   */
  List<Object[]> call(SparkSession session, TableCatalog catalog, CallArguments arguments);
}
