package io.icebergzorder.spark.plan.selection;

import io.icebergzorder.core.upkeep.LeftGroups;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.FileScanTask;

/** Leaves what is remembered of what was chosen: its rewrite has brought nothing before. */
public final class LeavingStep {
  private final LeftGroups remembered;
  private final IcebergRules rules;
  private final IcebergRules ofAnySize;

  /**
   * Takes what is remembered.
   *
   * @param remembered null if nothing is left, whatever it is
   */
  public LeavingStep(LeftGroups remembered, IcebergRules rules) {
    this.remembered = remembered;
    this.rules = rules;
    this.ofAnySize = rules.ofAnySize();
  }

  /** Whether data files are left, should they be a file group: it is remembered, and neither deletes nor partition specs call for it. */
  boolean leaves(List<FileScanTask> files) {
    return remembered != null
        && remembered.has(new LeftGroups.Group(files.stream().map(task -> task.file().location()).toList(), rules.newFiles()))
        && ofAnySize.worthRewriting(files).isEmpty();
  }

  /** Leaves the file groups that are remembered. */
  public Selection.Selected withoutLeft(Selection.Selected selected) {
    List<Selection.SelectedGroup> chosen = new ArrayList<>();
    List<Selection.SelectedGroup> left = new ArrayList<>();
    for (Selection.SelectedGroup group : selected.chosen()) {
      if (leaves(group.files())) {
        left.add(group.because(LeftGroups.WHY));
      } else {
        chosen.add(group);
      }
    }
    return taken(selected, chosen, left);
  }

  /** Takes some of what was chosen, and leaves other files; if nothing is taken, it is because all is remembered. */
  Selection.Selected taken(
      Selection.Selected selected, List<Selection.SelectedGroup> chosen, List<Selection.SelectedGroup> left) {
    List<Selection.SelectedGroup> all = new ArrayList<>(selected.left());
    all.addAll(left);
    boolean isNothing = chosen.isEmpty() && !selected.chosen().isEmpty();
    int again = (int) all.stream().filter(group -> group.reason().equals(LeftGroups.WHY)).count();
    return new Selection.Selected(chosen, all, isNothing ? LeftGroups.whyNothing(rules.tableName(), again) : selected.whyNothing());
  }
}
