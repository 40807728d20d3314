package io.icebergzorder.spark.run;

import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.layout.SampledGroup;

/**
 * A file group and its new files.
 *
 * @param files the new files, as their manifest entries describe them
 * @param read what a workload's queries read of the new files
 */
public record GroupResult(SampledGroup group, BoundedFiles files, BytesRead read) {}
