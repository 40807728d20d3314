/**
 * From a request to a plan, by metadata alone: {@link io.icebergzorder.spark.plan.RewritePlanner} lists files, selects and groups.
 */
package io.icebergzorder.spark.plan;
