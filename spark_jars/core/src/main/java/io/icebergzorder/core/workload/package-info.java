/**
 * Filters of queries as boxes over the keys of columns, and as boxes over the positions of a layout. The Python module
 * {@code iceberg_zorder.workload.boxes} gives the same boxes; {@code tests/golden/position_boxes.json} holds both to it.
 */
package io.icebergzorder.core.workload;
