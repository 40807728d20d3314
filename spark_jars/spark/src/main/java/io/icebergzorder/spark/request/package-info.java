/**
 * What a user asks for, and what that is in a table: {@link io.icebergzorder.spark.request.ResolvedRequest} refuses what cannot be
 * honoured.
 */
package io.icebergzorder.spark.request;
