/**
 * From new files to a snapshot: {@link io.icebergzorder.spark.commit.RewriteCommit} replaces the old ones, or says what became of it.
 */
package io.icebergzorder.spark.commit;
