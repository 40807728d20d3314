package io.icebergzorder.spark.plan.selection;

import static org.apache.iceberg.actions.BinPackRewriteFilePlanner.MAX_FILES_TO_REWRITE;

import io.icebergzorder.core.upkeep.LeftGroups;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.iceberg.FileScanTask;

/** Rewrites no more data files than are asked for at a time. */
public final class FileLimit {
  private FileLimit() {}

  /**
   * Takes the first of the files that were chosen, and leaves those for which there is no room.
   *
   * @param leaving tells of the part of a file group that there is room for that it is remembered, and left: its room is for others
   */
  public static Selection.Selected limited(Selection.Selected selected, IcebergRules rules, LeavingStep leaving) {
    int room = rules.maxFilesToRewrite();
    List<Selection.SelectedGroup> chosen = new ArrayList<>();
    List<Selection.SelectedGroup> left = new ArrayList<>();
    for (Selection.SelectedGroup group : selected.chosen()) {
      int taken = Math.min(room, group.files().size());
      List<FileScanTask> part = group.files().subList(0, taken);
      List<FileScanTask> rest = group.files().subList(taken, group.files().size());
      boolean isLeft = taken > 0 && !rest.isEmpty() && leaving.leaves(part);
      if (isLeft) {
        left.add(group.of(part).because(LeftGroups.WHY));
      } else if (taken > 0) {
        chosen.add(group.of(part));
        room -= taken;
      }
      if (!rest.isEmpty()) {
        String limit = String.format(Locale.ROOT, "%s is %,d", MAX_FILES_TO_REWRITE, rules.maxFilesToRewrite());
        left.add(group.of(rest).because(limit));
      }
    }
    return leaving.taken(selected, chosen, left);
  }
}
