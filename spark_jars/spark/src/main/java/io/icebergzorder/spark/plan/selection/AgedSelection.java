package io.icebergzorder.spark.plan.selection;

import io.icebergzorder.spark.request.RewriteOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import org.apache.iceberg.FileScanTask;

/** Chooses among the files that are old enough, and leaves the younger ones. */
public final class AgedSelection implements Selection {
  private final Predicate<FileScanTask> isYounger;
  private final IcebergRules rules;
  private final Selection others;

  /**
   * Takes what is young.
   *
   * @param others chooses among what is not
   */
  public AgedSelection(Predicate<FileScanTask> isYounger, IcebergRules rules, Selection others) {
    this.isYounger = isYounger;
    this.rules = rules;
    this.others = others;
  }

  @Override
  public Selected select(List<PartitionFiles> scope) {
    List<PartitionFiles> old = only(scope, isYounger.negate());
    List<PartitionFiles> young = only(scope, isYounger);
    Selected selected = others.select(old);
    if (young.isEmpty()) {
      return selected;
    }
    String why = String.format(Locale.ROOT, "younger than %s %,d", RewriteOptions.MIN_AGE_SECONDS, rules.minAgeSeconds());
    List<SelectedGroup> left = new ArrayList<>(selected.left());
    young.forEach(each -> left.add(new SelectedGroup(each.partition(), each.files(), why)));
    int files = young.stream().mapToInt(each -> each.files().size()).sum();
    String whyNothing = selected.whyNothing();
    if (old.isEmpty()) {
      whyNothing =
          String.format(
              Locale.ROOT,
              "Nothing to rewrite in %s: each of %,d data files is %s. To rewrite them anyway, lower %s.",
              rules.tableName(), files, why, RewriteOptions.MIN_AGE_SECONDS);
    } else if (whyNothing != null) {
      whyNothing += String.format(Locale.ROOT, " %,d more data files are %s.", files, why);
    }
    return new Selected(selected.chosen(), left, whyNothing);
  }

  /** The files of a kind; no partition is without one. */
  private static List<PartitionFiles> only(List<PartitionFiles> scope, Predicate<FileScanTask> kind) {
    return scope.stream()
        .map(each -> new PartitionFiles(each.partition(), each.files().stream().filter(kind).toList()))
        .filter(each -> !each.files().isEmpty())
        .toList();
  }
}
