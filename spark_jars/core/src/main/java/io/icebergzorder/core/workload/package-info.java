/**
 * What queries want, as boxes over the keys of columns, and as boxes over the positions of a layout. The Python package
 * {@code iceberg_zorder.workload.boxes} is the twin; {@code tests/golden/position_boxes.json} holds both to it.
 */
package io.icebergzorder.core.workload;
