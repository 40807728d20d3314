/**
 * The choice of data files: pure functions of file bounds and snapshots. The Python package {@code iceberg_zorder.select} gives the
 * same results, bit for bit; {@code tests/golden/upkeep.json} and {@code upkeep_queries.json} hold both to it.
 */
package io.icebergzorder.core.select;
