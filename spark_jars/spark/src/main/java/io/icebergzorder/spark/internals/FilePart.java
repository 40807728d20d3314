package io.icebergzorder.spark.internals;

import org.apache.iceberg.FileScanTask;

/** Some row groups of a data file, by a range of bytes. Iceberg's own parts refuse to be split, as a staged scan does. */
public record FilePart(FileScanTask task, long start, long length) implements UnsplitTask {}
