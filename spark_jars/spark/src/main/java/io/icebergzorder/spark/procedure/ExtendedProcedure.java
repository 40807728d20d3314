package io.icebergzorder.spark.procedure;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/** A procedure of Iceberg's, with its parameters and its results, some calls of which come here. */
public non-sealed interface ExtendedProcedure extends ProcedureDefinition {
  /** Calls it. */
  Optional<List<Object[]>> call(SparkSession session, TableCatalog catalog, CallArguments arguments);
}
