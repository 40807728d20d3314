package io.icebergzorder.spark.plan.selection;

import static org.apache.iceberg.actions.BinPackRewriteFilePlanner.MAX_FILES_TO_REWRITE;

import io.icebergzorder.core.upkeep.LeftGroups;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.FileScanTask;

/**
 * Rewrites no more data files than are asked for at a time. File groups that are due come first, then those that save most for their
 * bytes, where that is known. Within a file group that is cut due files come first, so that the part is due.
 */
public final class FileLimit {
  private final IcebergRules ofAnySize;
  private final LeavingStep leaving;
  private final int limit;

  /**
   * Takes the limit.
   *
   * @param leaving tells of the part of a file group that there is room for that it is remembered, and left: its room is for others
   */
  public FileLimit(IcebergRules rules, LeavingStep leaving) {
    this.ofAnySize = rules.ofAnySize();
    this.leaving = leaving;
    this.limit = rules.maxFilesToRewrite();
  }

  /**
   * What there is room for.
   *
   * @param selected the same files, those past the limit left
   * @param waiting how many of the files that were chosen there is no room for
   * @param isCut whether a file group is rewritten, or was tried, in parts
   * @param message what is to be said of the limit should nothing be rewritten; may be empty
   * @param room how many files are rewritten at most
   * @param tried how many file groups gain nothing
   */
  public record Limited(Selection.Selected selected, int waiting, boolean isCut, String message, int room, int tried) {
    /** Without a limit. */
    public static Limited not(Selection.Selected selected) {
      return new Limited(selected, 0, false, "", Integer.MAX_VALUE, 0);
    }
  }

  /**
   * Takes what there is room for.
   *
   * @param selected what was chosen
   * @param tried file groups that were taken already, and gain nothing: they stay left, and their room is for others
   * @param times so many times the room, to find out what gains
   */
  public Limited taken(Selection.Selected selected, List<Selection.SelectedGroup> tried, int times) {
    if (limit == Integer.MAX_VALUE) {
      return Limited.not(selected);
    }
    Taking taking = new Taking((int) Math.min(Integer.MAX_VALUE, (long) limit * times), tried);
    inOrder(selected).forEach(taking::add);
    boolean isCut = areCut(selected, taking);
    String message = whyLimited(taking.waiting, isCut);
    Selection.Selected taken = leaving.taken(selected, taking.chosen, taking.left);
    if (taking.chosen.isEmpty() && taken.whyNothing() != null) {
      taken = new Selection.Selected(taken.chosen(), taken.left(), taken.whyNothing() + message);
    }
    return new Limited(taken, taking.waiting, isCut, message, limit, tried.size());
  }

  /** Fills the room. */
  private final class Taking {
    private final Set<FileScanTask> tried = new HashSet<>();
    private final List<Selection.SelectedGroup> chosen = new ArrayList<>();
    private final List<Selection.SelectedGroup> left;
    private int room;
    private int waiting;

    Taking(int room, List<Selection.SelectedGroup> tried) {
      this.room = room;
      this.left = new ArrayList<>(tried);
      tried.forEach(group -> this.tried.addAll(group.files()));
    }

    /** Takes a file group, part by part; what is remembered takes no room. */
    void add(Selection.SelectedGroup group) {
      List<FileScanTask> rest = group.files().stream().filter(file -> !tried.contains(file)).toList();
      if (room > 0 && room < rest.size()) {
        rest = rest.stream().sorted(Comparator.comparing((FileScanTask file) -> !isDue(List.of(file)))).toList();
      }
      int all = group.files().size();
      while (!rest.isEmpty() && room > 0) {
        int count = Math.min(room, rest.size());
        Selection.SelectedGroup part = group.of(rest.subList(0, count));
        rest = rest.subList(count, rest.size());
        if (count < all && leaving.leaves(part.files())) {
          left.add(part.because(LeftGroups.WHY));
        } else {
          chosen.add(count < all ? part.because(part.reason() + ofCutGroup(count, all)) : part);
          room -= count;
        }
      }
      if (!rest.isEmpty()) {
        left.add(group.of(rest).because(whyLater()));
        waiting += rest.size();
      }
    }
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

  /** Whether file groups are not taken, tried or left as a whole. */
  private static boolean areCut(Selection.Selected selected, Taking taking) {
    if (taking.waiting == 0 && taking.chosen.size() + taking.left.size() == selected.chosen().size()) {
      return false;
    }
    Map<FileScanTask, Integer> sizes = new HashMap<>();
    selected.chosen().forEach(group -> group.files().forEach(file -> sizes.put(file, group.files().size())));
    List<Selection.SelectedGroup> parts = new ArrayList<>(taking.chosen);
    parts.addAll(taking.left);
    return parts.stream().anyMatch(part -> part.files().size() < sizes.get(part.files().get(0)));
  }

  private String whyLater() {
    return String.format(Locale.ROOT, "%s is %,d", MAX_FILES_TO_REWRITE, limit);
  }

  private String ofCutGroup(int files, int all) {
    return String.format(
        Locale.ROOT, "; %,d of its %,d files, for %s, and what is said here is of all %,d", files, all, whyLater(), all);
  }

  private String whyLimited(int waiting, boolean inParts) {
    String wait =
        waiting == 0 ? "" : String.format(Locale.ROOT, " %,d more data files wait behind %s %,d.", waiting, MAX_FILES_TO_REWRITE, limit);
    return inParts
        ? wait + String.format(" File groups were looked at in parts, for %s; as a whole they may gain.", whyLater())
        : wait;
  }
}
