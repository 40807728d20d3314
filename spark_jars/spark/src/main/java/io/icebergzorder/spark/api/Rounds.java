package io.icebergzorder.spark.api;

import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.plan.selection.Selection;
import io.icebergzorder.spark.sample.FittedLayouts;
import java.util.ArrayList;
import java.util.List;

/**
 * Samples a plan in rounds: what gains nothing leaves its room behind {@code max-files-to-rewrite} to what waits there.
 *
 * <p>Each round leaves what gains nothing, and the next has others in its place, until half of the room is for groups that gain, or no
 * file waits: what has no room then is for the next rewrite, which finds less before it. As long as nothing gains, rounds grow, so that
 * there are few of them; what they find is cut back to the limit by another one.
 *
 * @param plan what is rewritten
 * @param layouts by these layouts
 */
record Rounds(TablePlan plan, FittedLayouts layouts) {
  /** Samples the file groups of a plan. */
  interface Sampling {
    FittedLayouts of(TablePlan plan) throws InterruptedException;
  }

  /** Samples a plan that has file groups. */
  static Rounds of(TablePlan first, Sampling sampling) throws InterruptedException {
    TablePlan plan = first;
    List<Selection.SelectedGroup> tried = new ArrayList<>();
    int times = 1;
    while (true) {
      FittedLayouts layouts = sampling.of(plan);
      if (!layouts.failures().isEmpty() || isEnough(plan, layouts)) {
        return new Rounds(plan, layouts);
      }
      layouts.left().forEach((group, why) -> tried.add(new Selection.SelectedGroup(group.info().partition(), group.files(), why)));
      // A file group that fails is looked at in one round only, where others go on without it.
      boolean isToFit = !layouts.groups().isEmpty() || first.options().partialProgress().isPresent();
      times = isToFit ? 1 : (int) Math.min(Integer.MAX_VALUE, 2L * times);
      plan = first.again(tried, times);
    }
  }

  /** Whether what gains fits in the room, and fills it as far as it has to. */
  private static boolean isEnough(TablePlan plan, FittedLayouts layouts) {
    long files = layouts.groups().keySet().stream().mapToLong(group -> group.files().size()).sum();
    int room = plan.limit().room();
    return files <= room && (layouts.left().isEmpty() || plan.limit().waiting() == 0 || 2 * files >= room);
  }
}
