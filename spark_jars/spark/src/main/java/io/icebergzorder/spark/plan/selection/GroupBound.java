package io.icebergzorder.spark.plan.selection;

import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.upkeep.GroupCuts;
import io.icebergzorder.core.upkeep.UpkeepRequest;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.request.ResolvedRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.apache.iceberg.FileScanTask;

/**
 * Cuts what was chosen into file groups of no more than {@code max-file-group-size-bytes}. Without the option a partition is one file
 * group, whatever its size.
 */
public final class GroupBound {
  private final IcebergRules rules;
  private final Supplier<FileBounds> bounds;
  private final Supplier<KeptBounds> kept;
  private final ResolvedRequest request;

  /**
   * Takes what files are cut by.
   *
   * @param bounds of all files of the scope, for the columns of the request's order; read if there is something to cut
   * @param kept what new files keep of them
   */
  public GroupBound(IcebergRules rules, Supplier<FileBounds> bounds, Supplier<KeptBounds> kept, ResolvedRequest request) {
    this.rules = rules;
    this.bounds = bounds;
    this.kept = kept;
    this.request = request;
  }

  /** Cuts what was chosen. */
  public Selection.Selected cut(Selection.Selected selected) {
    if (rules.maxFileGroupSize().isEmpty()) {
      return selected;
    }
    long bound = rules.maxFileGroupSize().getAsLong();
    List<Selection.SelectedGroup> chosen = selected.chosen().stream().flatMap(group -> parts(group, bound).stream()).toList();
    return new Selection.Selected(chosen, selected.left(), selected.whyNothing());
  }

  private List<Selection.SelectedGroup> parts(Selection.SelectedGroup group, long bound) {
    long size = group.files().stream().mapToLong(file -> file.file().fileSizeInBytes()).sum();
    if (group.files().size() < 2 || size <= bound) {
      return List.of(group);
    }
    List<FileScanTask> files = group.files().stream().sorted(GainSelection.BY_LOCATION).toList();
    DataFiles described = GainSelection.described(files, bounds.get());
    UpkeepRequest upkeep = GainSelection.upkeep(rules, kept.get(), request, 1);
    List<int[]> groups = GroupCuts.cut(described, bound, upkeep.kept(), upkeep.weights());
    List<Selection.SelectedGroup> parts = new ArrayList<>();
    for (int[] places : groups) {
      String part =
          String.format(
              Locale.ROOT, "; part %,d of %,d, cut for max-file-group-size-bytes %,d", parts.size() + 1, groups.size(), bound);
      List<FileScanTask> mine = Arrays.stream(places).mapToObj(files::get).toList();
      parts.add(group.of(mine).because(group.reason() + part));
    }
    return parts;
  }
}
