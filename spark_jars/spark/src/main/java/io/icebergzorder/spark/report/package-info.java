/** How well a table is clustered: what {@link io.icebergzorder.core.report} computes, collected from the table's metadata. */
package io.icebergzorder.spark.report;
