package io.icebergzorder.spark.plan.selection;

import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.upkeep.Gain;
import io.icebergzorder.core.upkeep.Region;
import io.icebergzorder.core.upkeep.RegionMessages;
import io.icebergzorder.core.upkeep.RegionSizes;
import io.icebergzorder.core.upkeep.Regions;
import io.icebergzorder.core.upkeep.UpkeepRequest;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.queries.AskedFiles;
import io.icebergzorder.spark.request.ResolvedRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.apache.iceberg.FileScanTask;

/** Cuts what was chosen into file groups that are rewritten one by one ({@link Regions}). */
public final class RegionStep {
  /** Bytes of a file group, by default: Iceberg's. */
  private static final long LARGEST_GROUP = 100L << 30;

  private static final long FILES = 16;
  private static final double MOST_COST = 1.05;

  private final IcebergRules rules;
  private final Supplier<FileBounds> bounds;
  private final Supplier<KeptBounds> kept;
  private final Supplier<Optional<AskedFiles>> queries;
  private final ResolvedRequest request;
  private final RegionSizes sizes;
  private final long bound;

  /**
   * Takes what files are cut by.
   *
   * @param bounds of all files of the scope, for the columns of the request's order; read if there is something to cut
   * @param kept what new files keep of them
   * @param queries by which it is judged what cuts cost; by equality without
   */
  public RegionStep(
      IcebergRules rules,
      Supplier<FileBounds> bounds,
      Supplier<KeptBounds> kept,
      Supplier<Optional<AskedFiles>> queries,
      ResolvedRequest request) {
    this.rules = rules;
    this.bounds = bounds;
    this.kept = kept;
    this.queries = queries;
    this.request = request;
    this.bound = rules.maxFileGroupSize().orElse(LARGEST_GROUP);
    this.sizes = sizes(rules.targetFileSize(), rules.maxFileGroupSize(), request.options().partialProgress().isPresent());
  }

  /** How large regions are: so large that a layout has enough files to cut; with partial progress as small as can be. */
  static RegionSizes sizes(long target, OptionalLong bound, boolean partialProgress) {
    long least = Math.min(FILES * target, Math.max(1, bound.orElse(LARGEST_GROUP) / 4));
    return bound.isEmpty() && partialProgress
        ? new RegionSizes(least, least, false)
        : new RegionSizes(bound.orElse(LARGEST_GROUP), least, bound.isPresent());
  }

  /** Cuts what was chosen; it stays as it is where it is small enough. */
  public Selection.Selected cut(Selection.Selected selected) {
    List<Selection.SelectedGroup> large = selected.chosen().stream().filter(this::isToCut).toList();
    if (large.isEmpty()) {
      return selected;
    }
    int[] rows = Gain.rowsToSpread(large.stream().mapToInt(group -> rules.expectedOutputFiles(size(group))).toArray());
    List<Selection.SelectedGroup> chosen = new ArrayList<>();
    int next = 0;
    for (Selection.SelectedGroup group : selected.chosen()) {
      if (isToCut(group)) {
        chosen.addAll(regions(group, rows[next++]));
      } else {
        chosen.add(group);
      }
    }
    return new Selection.Selected(chosen, selected.left(), selected.whyNothing());
  }

  private static long size(Selection.SelectedGroup group) {
    return group.files().stream().mapToLong(file -> file.file().fileSizeInBytes()).sum();
  }

  /** Whether files are so large; those that change their partition are cut by that before all else. */
  private boolean isToCut(Selection.SelectedGroup group) {
    long size = size(group);
    if (size <= sizes.bound() || group.files().size() < 2) {
      return false;
    }
    boolean changes = group.files().stream().anyMatch(file -> file.spec().specId() != rules.newSpecId());
    return sizes.isAcross() || size >= 2 * sizes.least() && !changes;
  }

  private List<Selection.SelectedGroup> regions(Selection.SelectedGroup group, int rows) {
    List<FileScanTask> files = group.files().stream().sorted(GainSelection.BY_LOCATION).toList();
    DataFiles described = GainSelection.described(files, bounds.get());
    UpkeepRequest asked =
        GainSelection.asking(GainSelection.upkeep(rules, kept.get(), request, MOST_COST), files, queries.get());
    UpkeepRequest upkeep = group.isFiner() ? asked.finer() : asked;
    Regions found = Regions.cut(described, rows, sizes, upkeep);
    if (found.regions().size() == 1) {
      boolean hasBounds = Arrays.stream(upkeep.weights()).anyMatch(weight -> weight > 0);
      return List.of(group.because(group.reason() + RegionMessages.inOne(size(group), bound, found, hasBounds)));
    }
    List<Selection.SelectedGroup> parts = new ArrayList<>();
    for (Region region : found.regions()) {
      List<FileScanTask> mine = Arrays.stream(region.files()).mapToObj(files::get).toList();
      String reason = group.reason() + RegionMessages.part(parts.size() + 1, bound, found);
      parts.add(new Selection.SelectedGroup(group.partition(), mine, reason, region.spans(), group.worth(), group.isFiner()));
    }
    return parts;
  }
}
