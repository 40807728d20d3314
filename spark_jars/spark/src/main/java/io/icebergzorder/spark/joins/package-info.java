/**
 * Joins that skip files: the keys of a join's small side reach the scan of its large side, which leaves out the data files whose bounds
 * hold none of them.
 */
package io.icebergzorder.spark.joins;
