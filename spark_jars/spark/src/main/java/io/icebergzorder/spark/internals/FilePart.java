package io.icebergzorder.spark.internals;

import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.Expression;

/**
 * Some row groups of a data file: those whose middle lies in a range of its bytes. Iceberg's own parts of files cannot
 * be staged, because a staged scan splits what it is given, and they refuse that.
 */
public final class FilePart implements FileScanTask {
  private static final long serialVersionUID = 1L;

  private final FileScanTask file;
  private final long start;
  private final long length;

  public FilePart(FileScanTask file, long start, long length) {
    this.file = file;
    this.start = start;
    this.length = length;
  }

  @Override
  public DataFile file() {
    return file.file();
  }

  @Override
  public List<DeleteFile> deletes() {
    return file.deletes();
  }

  @Override
  public PartitionSpec spec() {
    return file.spec();
  }

  @Override
  public Schema schema() {
    return file.schema();
  }

  @Override
  public Expression residual() {
    return file.residual();
  }

  @Override
  public long start() {
    return start;
  }

  @Override
  public long length() {
    return length;
  }

  @Override
  public Iterable<FileScanTask> split(long size) {
    return List.of(this);
  }
}
