/**
 * Which data files a rewrite takes: pure functions of what metadata says of them. The Python package {@code iceberg_zorder.select} is
 * the twin, equal bit for bit; {@code tests/golden/upkeep.json} and {@code upkeep_queries.json} hold both to it.
 */
package io.icebergzorder.core.select;
