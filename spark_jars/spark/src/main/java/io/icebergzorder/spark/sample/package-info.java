/**
 * From a plan to layouts: {@link io.icebergzorder.spark.sample.LayoutFitter} draws a sample of each file group, fits, and predicts.
 */
package io.icebergzorder.spark.sample;
