package io.icebergzorder.spark.internals;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A function that rows pass through, by way of {@link FunctionScope}.
 *
 * <p>It has an {@code invoke} for every Java type that Spark may hand it; Spark looks up the one that matches {@link
 * ScalarFunction#inputTypes()} and calls it directly. For a NULL of a primitive type Spark does not call at all and
 * returns NULL. Its class is public because the code that Spark generates calls it.
 */
public abstract class ColumnFunction<R> implements ScalarFunction<R>, UnboundFunction {
  private final DataType resultType;
  private final DataType[] inputTypes;

  protected ColumnFunction(DataType resultType, DataType... inputTypes) {
    this.resultType = resultType;
    this.inputTypes = inputTypes;
  }

  /** It is bound: it was made for the columns that it is called with. */
  @Override
  public BoundFunction bind(StructType inputType) {
    return this;
  }

  @Override
  public String description() {
    return name();
  }

  @Override
  public DataType[] inputTypes() {
    return inputTypes.clone();
  }

  @Override
  public DataType resultType() {
    return resultType;
  }

  @Override
  public String name() {
    return "iceberg_zorder_" + getClass().getSimpleName();
  }

  /** Two functions are never the same to Spark, whatever their names: each holds values of its own. */
  @Override
  public String canonicalName() {
    return name() + "@" + System.identityHashCode(this);
  }
}
