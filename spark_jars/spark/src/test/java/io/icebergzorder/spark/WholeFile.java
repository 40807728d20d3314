package io.icebergzorder.spark;

import java.util.List;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;

/** Scans a file of a table without partitions; has no schema and no spec as texts, as Iceberg's own tasks have. */
public final class WholeFile extends BaseFileScanTask {
  public static final PartitionSpec SPEC = PartitionSpec.unpartitioned();

  private final List<DeleteFile> deletes;

  public WholeFile(String path, long bytes, long rows, DeleteFile... deletes) {
    super(
        DataFiles.builder(SPEC).withPath(path).withFileSizeInBytes(bytes).withSplitOffsets(List.of(0L, bytes / 2)).withRecordCount(rows).build(),
        new DeleteFile[0],
        "",
        "",
        ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
    this.deletes = List.of(deletes);
  }

  @Override
  public PartitionSpec spec() {
    return SPEC;
  }

  @Override
  public List<DeleteFile> deletes() {
    return deletes;
  }
}
