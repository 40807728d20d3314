/**
 * From a workload to the columns that files are clustered by, where nobody names them: {@link io.icebergzorder.spark.choice.ColumnChoice}.
 */
package io.icebergzorder.spark.choice;
