/**
 * From a request to a plan, by metadata alone: {@link io.icebergzorder.spark.plan.RewritePlanner} resolves, selects and groups.
 */
package io.icebergzorder.spark.plan;
