/**
 * Which data files are rewritten together, which are left, and why: a {@link io.icebergzorder.spark.plan.selection.Selection} chooses,
 * and steps that do not depend on who has chosen follow.
 */
package io.icebergzorder.spark.plan.selection;
