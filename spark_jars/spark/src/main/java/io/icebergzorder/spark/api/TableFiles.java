package io.icebergzorder.spark.api;

import io.icebergzorder.spark.layout.TableReads;
import java.util.Optional;

/**
 * The data files of a table, or those that the filter of a rewrite selects.
 *
 * @param files how many there are
 * @param bytes their bytes
 */
public record TableFiles(int files, long bytes) {
  static Optional<TableFiles> of(TableReads reads) {
    return reads == TableReads.NONE ? Optional.empty() : Optional.of(new TableFiles(reads.files(), reads.bytes()));
  }
}
