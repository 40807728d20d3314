/**
 * What all else needs of Spark's and Iceberg's insides: sessions, functions, staged scans, and what differs between their lines.
 */
package io.icebergzorder.spark.internals;
