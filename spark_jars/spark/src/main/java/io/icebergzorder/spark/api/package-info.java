/**
 * Rewrites for Java and Scala programs, without SQL: {@link io.icebergzorder.spark.api.ZOrderRewrite} plans, {@link
 * io.icebergzorder.spark.api.RewritePlan} is looked at, sampled and executed. The only package here that is promised to stay as it is.
 */
package io.icebergzorder.spark.api;
