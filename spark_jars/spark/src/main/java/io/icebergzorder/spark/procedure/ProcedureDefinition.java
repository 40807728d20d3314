package io.icebergzorder.spark.procedure;

import org.apache.spark.sql.types.StructType;

/** A procedure that is called here, whatever the Spark line: {@link AddedProcedure} or {@link ExtendedProcedure}. */
public sealed interface ProcedureDefinition permits AddedProcedure, ExtendedProcedure {
  /** Its name in the namespace {@code system}, in lower case. */
  String name();

  /** The columns of the rows that it returns. */
  StructType output();
}
