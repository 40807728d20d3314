/**
 * Spark jobs of several file groups: which groups share one ({@link io.icebergzorder.spark.jobs.JobPlanner}), and how a task knows
 * whose rows it has ({@link io.icebergzorder.spark.jobs.StageGroups}).
 */
package io.icebergzorder.spark.jobs;
