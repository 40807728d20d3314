package io.icebergzorder.spark.sample;

import io.icebergzorder.core.Layout;
import java.util.List;
import java.util.Map;

/**
 * The layouts of a plan's file groups, and, where rows were held out of the sample, what filters are predicted to read.
 *
 * @param layouts by file group
 * @param scanFractions by file group and column name, the predicted scan fraction of {@code column = value} among the group's files;
 *     empty if nothing was held out
 * @param scanFraction the same among the files of all groups
 */
public record FittedLayouts(
    List<Layout> layouts, List<Map<String, Double>> scanFractions, Map<String, Double> scanFraction) {
  /** Takes copies of the lists; the maps are in the order of the columns. */
  public FittedLayouts {
    layouts = List.copyOf(layouts);
    scanFractions = List.copyOf(scanFractions);
  }
}
