package io.icebergzorder.spark.measure;

import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The bounds of a plan's data files. They are read from the manifests again: metrics of all files that were only listed
 * would take more memory than the files themselves, where keys of those that are rewritten take little.
 */
public final class TodaysFiles {
  private TodaysFiles() {}

  /** Reads the bounds of the files of some groups of a plan. */
  public static Map<PlannedGroup, GroupBounds> of(TablePlan plan, Collection<PlannedGroup> groups, Supplier<GroupBounds> empty) {
    Map<PlannedGroup, GroupBounds> bounds = new LinkedHashMap<>();
    Map<String, GroupBounds> byLocation = new HashMap<>();
    for (PlannedGroup group : groups) {
      GroupBounds ofGroup = empty.get();
      bounds.put(group, ofGroup);
      group.files().forEach(file -> byLocation.put(file.file().location(), ofGroup));
    }
    plan.forEachFileWithBounds(
        file -> {
          GroupBounds ofGroup = byLocation.get(file.location());
          if (ofGroup != null) {
            ofGroup.add(file);
          }
        });
    return bounds;
  }
}
