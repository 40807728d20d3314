package io.icebergzorder.spark.queries;

import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.StructLike;

/** A partition, as one of its files has it. */
public record FilePartition(PartitionSpec spec, StructLike values) {
  /** Where rows of several partitions come together, those of their new files are not known. */
  public static final FilePartition UNKNOWN = new FilePartition(PartitionSpec.unpartitioned(), null);

  /** Whether the values are known. */
  public boolean isKnown() {
    return values != null;
  }
}
