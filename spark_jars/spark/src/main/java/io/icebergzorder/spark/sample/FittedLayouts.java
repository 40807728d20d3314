package io.icebergzorder.spark.sample;

import io.icebergzorder.core.Layout;
import io.icebergzorder.spark.measure.GroupBounds;
import io.icebergzorder.spark.measure.ScanFractions;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.RowOrder;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The layouts of a plan's file groups, and what filters read today and are predicted to read.
 *
 * @param groups the file groups that are to be rewritten, in the order of the plan
 * @param failures of those that could not be sampled, why not; empty without partial progress
 * @param left of those that are better left as they are, why
 * @param before by column name, the scan fraction of {@code column = value} today among the files of all groups to be rewritten
 * @param predicted the one that their new files are predicted to have
 * @param messages what the user should know before the work begins
 * @param whyNothing why no group is left over, or null
 * @param bounds gives bounds without files, to add new ones to
 */
public record FittedLayouts(
    Map<PlannedGroup, FittedGroup> groups,
    Map<PlannedGroup, Throwable> failures,
    Map<PlannedGroup, String> left,
    Map<String, Double> before,
    Map<String, Double> predicted,
    List<String> messages,
    String whyNothing,
    Supplier<GroupBounds> bounds) {
  /** Takes copies of what is told by file group; the maps by column are in the order of the columns. */
  public FittedLayouts {
    groups = Collections.unmodifiableMap(new LinkedHashMap<>(groups));
    failures = Collections.unmodifiableMap(new LinkedHashMap<>(failures));
    left = Collections.unmodifiableMap(new LinkedHashMap<>(left));
    messages = List.copyOf(messages);
  }

  /** The layouts of the file groups that are to be rewritten. */
  public List<Layout> layouts() {
    return groups.values().stream().map(FittedGroup::layout).toList();
  }

  /** By column name, the scan fraction today among the files of some groups. */
  public static Map<String, Double> before(RowOrder order, Collection<FittedGroup> groups) {
    return ScanFractions.measured(order, groups.stream().map(FittedGroup::files).toList());
  }

  /** By column name, the one that their new files are predicted to have. */
  public static Map<String, Double> predicted(TablePlan plan, Collection<FittedGroup> groups) {
    return ScanFractions.predicted(
        plan.target().table(), plan.order(), groups.stream().map(FittedGroup::sampled).toList());
  }

  /** Whether there is nothing to rewrite. */
  public boolean isNothing() {
    return groups.isEmpty() && failures.isEmpty();
  }
}
