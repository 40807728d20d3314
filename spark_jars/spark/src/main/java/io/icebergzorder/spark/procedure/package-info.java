/**
 * The stored procedures, whatever the Spark line: {@link io.icebergzorder.spark.procedure.Procedures} names them all.
 */
package io.icebergzorder.spark.procedure;
