/**
 * Rewrites for Java and Scala programs, without SQL: {@link io.icebergzorder.spark.api.ZOrderRewrite} makes a {@link
 * io.icebergzorder.spark.api.RewritePlan}, which can be shown, sampled and executed. The only package with a stable API.
 */
package io.icebergzorder.spark.api;
