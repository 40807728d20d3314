/**
 * From a plan and its layouts to new files: {@link io.icebergzorder.spark.run.RewriteRun} reads, routes, sorts and writes.
 */
package io.icebergzorder.spark.run;
