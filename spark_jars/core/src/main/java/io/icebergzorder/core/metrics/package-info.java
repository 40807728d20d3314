/**
 * How well a table's files are laid out: figures and findings of file bounds alone. The Python package {@code iceberg_zorder.metrics} is
 * the twin, equal bit for bit; {@code tests/golden/report_*.json} hold both to it.
 */
package io.icebergzorder.core.metrics;
