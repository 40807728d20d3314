package io.icebergzorder.spark.api;

import io.icebergzorder.spark.layout.ScanFractions.TableReads;
import java.util.Optional;

/**
 * The data files of a table, or those that may match {@code where}.
 *
 * @param files the number of files
 * @param bytes their bytes
 */
public record TableFiles(int files, long bytes) {
  static Optional<TableFiles> of(TableReads reads) {
    return reads == TableReads.NONE ? Optional.empty() : Optional.of(new TableFiles(reads.files(), reads.bytes()));
  }
}
