/**
 * What filters read: {@link io.icebergzorder.spark.measure.ScanFractions} of files that are, by their bounds, and of files that layouts
 * will make; and {@link io.icebergzorder.spark.measure.ConditionReads} by conditions, of both.
 */
package io.icebergzorder.spark.measure;
