package io.icebergzorder.core.upkeep;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * File groups whose rewrite has brought nothing: a table remembers them, so that no run writes them in vain again.
 *
 * <p>A key is of the files, the sort order, the options, the size of new files and their partition spec, and the table properties that
 * tell how files are written: what changes any of them may gain.
 */
public final class LeftGroups {
  /** The table property that has the keys, the newest last, with commas between. */
  public static final String PROPERTY = "zorder.left-file-groups";

  /** Why such a file group is left. */
  public static final String WHY =
      "its new files were read no less when it was rewritten last, and it is as it was; rewrite-all rewrites it all the same";

  private static final String DRY_RUN = "dry-run";
  private static final int MOST = 1_000;

  private final String wayToRewrite;
  private final String text;

  /**
   * Reads what a table remembers.
   *
   * @param properties the table's
   * @param sortOrder by which it is rewritten
   * @param options the options of the rewrite
   */
  public LeftGroups(Map<String, String> properties, String sortOrder, Map<String, String> options) {
    this.text = properties.getOrDefault(PROPERTY, "");
    Map<String, String> settings = new HashMap<>(options);
    settings.remove(DRY_RUN);
    properties.forEach((name, value) -> settings.compute(name, (key, old) -> name.startsWith(RequestKey.WRITE) ? value : old));
    this.wayToRewrite =
        settings.entrySet().stream()
            .map(option -> option.getKey() + "=" + option.getValue())
            .sorted()
            .collect(Collectors.joining("\n", sortOrder + "\n", ""));
  }

  /**
   * A file group.
   *
   * @param paths its data files, in any order
   * @param newFiles the size of new files, and their partition spec
   */
  public record Group(Collection<String> paths, String newFiles) {}

  /** Whether a file group is remembered. */
  public boolean has(Group group) {
    return !text.isEmpty() && keys().contains(key(group));
  }

  private List<String> keys() {
    return Arrays.stream(text.split(",")).map(String::strip).filter(key -> !key.isEmpty()).toList();
  }

  private String key(Group group) {
    List<String> lines = new ArrayList<>(List.of(wayToRewrite, group.newFiles()));
    lines.addAll(new TreeSet<>(group.paths()));
    return RequestKey.of(lines);
  }

  /** The property with more file groups; of more than 1,000 the oldest are forgotten. */
  public String with(Collection<Group> groups) {
    List<String> added = groups.stream().map(this::key).toList();
    Set<String> isNew = Set.copyOf(added);
    List<String> all = new ArrayList<>(keys().stream().filter(key -> !isNew.contains(key)).toList());
    all.addAll(added);
    return String.join(",", all.subList(Math.max(0, all.size() - MOST), all.size()));
  }

  /** Why nothing is rewritten where all file groups are left. */
  public static String whyNothing(String table, int groups) {
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: the new files of its %,d file groups were read no less when they were rewritten last, and the"
            + " groups are as they were. To rewrite them anyway, set option rewrite-all to true.",
        table, groups);
  }
}
