package io.icebergzorder.spark.plan.selection;

import static org.apache.iceberg.actions.BinPackRewriteFilePlanner.MAX_FILES_TO_REWRITE;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import org.apache.iceberg.FileScanTask;

/**
 * Rewrites no more data files than are asked for at a time. File groups that are due come first, then those that save most for their
 * bytes, where that is known. Within a file group that is cut due files come first, so that the part is due.
 */
public final class FileLimit {
  private final IcebergRules ofAnySize;
  private final int limit;

  private FileLimit(IcebergRules rules) {
    this.ofAnySize = rules.ofAnySize();
    this.limit = rules.maxFilesToRewrite();
  }

  /**
   * What there is room for.
   *
   * @param selected the same files, those past the limit left
   * @param isAll whether all files that were chosen are rewritten
   * @param message what is to be said of the limit should nothing be rewritten; may be empty
   */
  public record Limited(Selection.Selected selected, boolean isAll, String message) {
    /** Without a limit. */
    public static Limited not(Selection.Selected selected) {
      return new Limited(selected, true, "");
    }
  }

  /** Takes what there is room for. */
  public static Limited taken(IcebergRules rules, Selection.Selected selected) {
    return rules.maxFilesToRewrite() == Integer.MAX_VALUE ? Limited.not(selected) : new FileLimit(rules).of(selected);
  }

  private Limited of(Selection.Selected selected) {
    List<Selection.SelectedGroup> chosen = new ArrayList<>();
    List<Selection.SelectedGroup> left = new ArrayList<>(selected.left());
    int room = limit;
    int waiting = 0;
    boolean isCut = false;
    for (Selection.SelectedGroup group : inOrder(selected)) {
      List<FileScanTask> files = group.files();
      int all = files.size();
      int count = Math.min(room, all);
      if (0 < count && count < all) {
        isCut = true;
        files = files.stream().sorted(Comparator.comparing((FileScanTask file) -> !isDue(List.of(file)))).toList();
      }
      if (count > 0) {
        Selection.SelectedGroup part = group.of(files.subList(0, count));
        chosen.add(count < all ? part.because(part.reason() + ofCutGroup(count, all)) : part);
      }
      if (count < all) {
        left.add(group.of(files.subList(count, all)).because(whyLater()));
      }
      room -= count;
      waiting += all - count;
    }
    return new Limited(new Selection.Selected(chosen, left, selected.whyNothing()), waiting == 0, whyLimited(waiting, isCut));
  }

  private boolean isDue(List<FileScanTask> files) {
    return !ofAnySize.worthRewriting(files).isEmpty();
  }

  private List<Selection.SelectedGroup> inOrder(Selection.Selected selected) {
    if (selected.chosenFiles() <= limit) {
      return selected.chosen();
    }
    Comparator<Selection.SelectedGroup> dueFirst = Comparator.comparing(group -> !isDue(group.files()));
    return selected.chosen().stream().sorted(dueFirst.thenComparing(group -> -group.worth())).toList();
  }

  private String whyLater() {
    return String.format(Locale.ROOT, "%s is %,d", MAX_FILES_TO_REWRITE, limit);
  }

  private String ofCutGroup(int files, int all) {
    return String.format(
        Locale.ROOT, "; %,d of its %,d files, for %s, and what is said here is of all %,d", files, all, whyLater(), all);
  }

  private String whyLimited(int waiting, boolean inParts) {
    if (waiting == 0) {
      return "";
    }
    String wait =
        String.format(
            Locale.ROOT, " %,d more data files wait behind %s %,d: raise it to reach them.", waiting, MAX_FILES_TO_REWRITE, limit);
    return inParts ? wait + String.format(" A file group was looked at in part, for %s; as a whole it may gain.", whyLater()) : wait;
  }
}
