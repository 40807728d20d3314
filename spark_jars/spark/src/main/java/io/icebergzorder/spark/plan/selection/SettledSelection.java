package io.icebergzorder.spark.plan.selection;

import io.icebergzorder.core.upkeep.Settled;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.apache.iceberg.FileScanTask;

/** Leaves the partitions that earlier rewrites have settled, unless deletes or partition specs call for a rewrite. */
public final class SettledSelection implements Selection {
  private final Predicate<List<FileScanTask>> isSettled;
  private final IcebergRules rules;
  private final IcebergRules ofAnySize;
  private final Selection others;

  /**
   * Takes what is settled.
   *
   * @param others chooses among what is not
   */
  public SettledSelection(Predicate<List<FileScanTask>> isSettled, IcebergRules rules, Selection others) {
    this.isSettled = isSettled;
    this.rules = rules;
    this.ofAnySize = rules.ofAnySize();
    this.others = others;
  }

  @Override
  public Selected select(List<PartitionFiles> scope) {
    List<PartitionFiles> open = new ArrayList<>();
    List<SelectedGroup> left = new ArrayList<>();
    for (PartitionFiles partition : scope) {
      if (isSettled(partition)) {
        left.add(new SelectedGroup(partition.partition(), partition.files(), Settled.WHY));
      } else {
        open.add(partition);
      }
    }
    if (open.isEmpty() && !left.isEmpty()) {
      int files = left.stream().mapToInt(group -> group.files().size()).sum();
      return new Selected(List.of(), left, Settled.whyNothing(rules.tableName(), files));
    }
    Selected selected = others.select(open);
    List<SelectedGroup> all = new ArrayList<>(selected.left());
    all.addAll(left);
    return new Selected(selected.chosen(), all, selected.whyNothing());
  }

  private boolean isSettled(PartitionFiles partition) {
    return isSettled.test(partition.files())
        && ofAnySize.worthRewriting(partition.files()).isEmpty();
  }
}
