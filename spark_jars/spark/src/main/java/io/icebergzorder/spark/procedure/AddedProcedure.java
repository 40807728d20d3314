package io.icebergzorder.spark.procedure;

import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.StructType;

/** A procedure that Iceberg does not have, whatever the Spark line: parameters that may be left out are nullable. */
public record AddedProcedure(String name, StructType parameters, StructType output, Body body) {
  /** From the arguments of a CALL in a catalog to rows of the output, as Spark holds values inside. */
  public interface Body {
    List<Object[]> call(SparkSession session, TableCatalog catalog, CallArguments arguments);
  }
}
