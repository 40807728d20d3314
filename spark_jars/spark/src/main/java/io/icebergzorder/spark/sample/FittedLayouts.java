package io.icebergzorder.spark.sample;

import io.icebergzorder.core.Layout;
import io.icebergzorder.spark.plan.PlannedGroup;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The layouts of a plan's file groups, and, where rows were held out of the sample, what filters are predicted to read.
 *
 * @param layouts of the file groups that could be sampled, in the order of the plan
 * @param failures of all others, why not; empty without partial progress
 * @param scanFractions by file group and column name, the predicted scan fraction of {@code column = value} among the group's files;
 *     empty if nothing was held out
 * @param scanFraction the same among the files of all groups
 */
public record FittedLayouts(
    Map<PlannedGroup, Layout> layouts,
    Map<PlannedGroup, Throwable> failures,
    Map<PlannedGroup, Map<String, Double>> scanFractions,
    Map<String, Double> scanFraction) {
  /** Takes copies of what is told by file group; the maps by column are in the order of the columns. */
  public FittedLayouts {
    layouts = Collections.unmodifiableMap(new LinkedHashMap<>(layouts));
    failures = Collections.unmodifiableMap(new LinkedHashMap<>(failures));
    scanFractions = Collections.unmodifiableMap(new LinkedHashMap<>(scanFractions));
  }
}
