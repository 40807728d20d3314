package io.icebergzorder.spark.plan;

import io.icebergzorder.core.Reason;
import io.icebergzorder.spark.spec.ResolvedSpec;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;

/** Data files of one partition that a rewrite leaves, with the reasons. */
public record LeftGroup(String partition, int dataFilesCount, long bytes, long rows, List<Reason> reasons) {
  /** Takes a copy of the list. */
  public LeftGroup {
    reasons = List.copyOf(reasons);
  }

  /** Some files of a table. */
  public static LeftGroup of(Table table, List<FileScanTask> files, Reason reason) {
    return new LeftGroup(FileGroup.partitionPath(table, files), files.size(), FileGroup.bytes(files), FileGroup.rows(files), List.of(reason));
  }

  /** Files that are no part of a plan. */
  static LeftGroup notInPlan(int files) {
    return new LeftGroup("", files, 0, 0, List.of(Reason.of(Reason.NOT_IN_PLAN)));
  }

  boolean isFor(String code) {
    return reasons.stream().anyMatch(each -> each.code().equals(code));
  }

  /** Says why nothing is rewritten. Costs in several partitions add up: a filter reads all of them. */
  static String whyNothing(String table, ResolvedSpec spec, StartingPoint start, List<LeftGroup> left) {
    if (start.snapshotId() == null) {
      return "Nothing to rewrite in %s: branch main has no snapshot yet.".formatted(table);
    }
    if (left.isEmpty() && spec.written().where() == null) {
      return "Nothing to rewrite in %s: the table has no data file.".formatted(table);
    }
    Map<Reason, List<LeftGroup>> alike =
        left.stream().collect(Collectors.groupingBy(each -> each.reasons.get(0).withCosts(List.of()), LinkedHashMap::new, Collectors.toList()));
    Map<String, Integer> counts = new LinkedHashMap<>();
    for (List<LeftGroup> of : alike.values()) {
      List<Reason> reasons = of.stream().map(each -> each.reasons.get(0)).toList();
      counts.put(Reason.text(List.of(reasons.get(0).withCosts(reasons))), of.stream().mapToInt(LeftGroup::dataFilesCount).sum());
    }
    return Reason.whyNothing(table, counts);
  }
}
