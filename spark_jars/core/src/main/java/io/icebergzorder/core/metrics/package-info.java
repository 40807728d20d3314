/**
 * Reports on a layout: figures and findings, from file bounds alone. The Python package {@code iceberg_zorder.metrics} gives the
 * same results, bit for bit; {@code tests/golden/report_*.json} hold both to it.
 */
package io.icebergzorder.core.metrics;
