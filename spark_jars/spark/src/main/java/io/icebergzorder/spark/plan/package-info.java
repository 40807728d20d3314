/**
 * From a request to a plan, by metadata alone: {@link io.icebergzorder.spark.plan.Selection} chooses files and groups them.
 */
package io.icebergzorder.spark.plan;
