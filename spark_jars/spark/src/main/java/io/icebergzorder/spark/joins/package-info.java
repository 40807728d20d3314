/**
 * Joins that skip files: the keys of a join's small side reach the scan of its large side, which leaves out the data files whose bounds
 * hold none of them. So do the keys of a source of MERGE, UPDATE or DELETE reach the scan of its target.
 */
package io.icebergzorder.spark.joins;
