package io.icebergzorder.spark.internals;

import org.apache.iceberg.FileScanTask;

/**
 * Some row groups of a data file: those whose middle lies in a range of its bytes. Iceberg's own parts of files cannot be
 * staged, because a staged scan splits what it is given, and they refuse that.
 */
public record FilePart(FileScanTask task, long start, long length) implements UnsplitTask {}
