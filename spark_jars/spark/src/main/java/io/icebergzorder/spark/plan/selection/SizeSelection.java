package io.icebergzorder.spark.plan.selection;

import static org.apache.iceberg.actions.BinPackRewriteFilePlanner.DELETE_FILE_THRESHOLD;
import static org.apache.iceberg.actions.BinPackRewriteFilePlanner.DELETE_RATIO_THRESHOLD;
import static org.apache.iceberg.actions.SizeBasedFileRewritePlanner.MAX_FILE_SIZE_BYTES;
import static org.apache.iceberg.actions.SizeBasedFileRewritePlanner.MIN_FILE_SIZE_BYTES;
import static org.apache.iceberg.actions.SizeBasedFileRewritePlanner.MIN_INPUT_FILES;
import static org.apache.iceberg.actions.SizeBasedFileRewritePlanner.REWRITE_ALL;
import static org.apache.iceberg.actions.SizeBasedFileRewritePlanner.TARGET_FILE_SIZE_BYTES;

import io.icebergzorder.core.upkeep.Gathering;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.FileScanTask;

/** Iceberg's choice: by the sizes of data files and by their deletes. A partition is one file group, whatever its size. */
public final class SizeSelection implements Selection {
  private final IcebergRules rules;
  private final ToLongFunction<FileScanTask> rewriteOf;

  /**
   * Takes the rules.
   *
   * @param rewriteOf the earlier rewrite to files of this size that has written a file, see {@link Gathering#gathered}
   */
  public SizeSelection(IcebergRules rules, ToLongFunction<FileScanTask> rewriteOf) {
    this.rules = rules;
    this.rewriteOf = rewriteOf;
  }

  @Override
  public Selected select(List<PartitionFiles> scope) {
    List<SelectedGroup> chosen = new ArrayList<>();
    List<SelectedGroup> left = new ArrayList<>();
    int seen = 0;
    int worth = 0;
    int resting = 0;
    for (PartitionFiles partition : scope) {
      List<FileScanTask> own = rules.rewriteAll() ? List.of() : resting(partition.files());
      List<FileScanTask> others = without(partition.files(), own);
      List<FileScanTask> files = rules.rewriteAll() ? others : rules.worthRewriting(others);
      boolean areEnough = rules.rewriteAll() || (!files.isEmpty() && rules.areEnough(files));
      seen += partition.files().size();
      worth += files.size();
      resting += own.size();
      if (areEnough) {
        addTo(chosen, partition, files, whyChosen(files));
      } else {
        addTo(left, partition, files, whyTooFew(files));
      }
      addTo(left, partition, own, Gathering.WHY);
      addTo(left, partition, without(others, files), whyInOrder());
    }
    return new Selected(chosen, left, chosen.isEmpty() ? whyNothing(seen, worth, resting) : null);
  }

  /** The small files of earlier rewrites that may stay. */
  List<FileScanTask> resting(List<FileScanTask> files) {
    List<FileScanTask> small = rules.onlySmall(files);
    boolean[] gathered =
        Gathering.gathered(
            small.stream().mapToLong(FileScanTask::length).toArray(), small.stream().mapToLong(rewriteOf).toArray());
    return IntStream.range(0, gathered.length).filter(file -> !gathered[file]).mapToObj(small::get).toList();
  }

  static void addTo(List<SelectedGroup> groups, PartitionFiles partition, List<FileScanTask> files, String reason) {
    if (!files.isEmpty()) {
      groups.add(new SelectedGroup(partition.partition(), files, reason));
    }
  }

  static List<FileScanTask> without(List<FileScanTask> all, List<FileScanTask> some) {
    Set<FileScanTask> excluded = new HashSet<>(some);
    return all.stream().filter(file -> !excluded.contains(file)).toList();
  }

  String whyChosen(List<FileScanTask> files) {
    if (rules.rewriteAll()) {
      return REWRITE_ALL + " is true";
    }
    Map<Integer, Long> others =
        files.stream()
            .filter(rules::isOfOldSpec)
            .collect(Collectors.groupingBy(file -> file.file().specId(), TreeMap::new, Collectors.counting()));
    List<FileScanTask> rest = files.stream().filter(file -> !rules.isOfOldSpec(file)).toList();
    long small = rest.stream().filter(rules::isTooSmall).count();
    long large = rest.stream().filter(rules::isTooLarge).count();
    List<String> kinds = new ArrayList<>();
    add(kinds, small, "below %s %,d", MIN_FILE_SIZE_BYTES, rules.minFileSize());
    add(kinds, large, "above %s %,d", MAX_FILE_SIZE_BYTES, rules.maxFileSize());
    add(kinds, rest.size() - small - large, "with deletes above %s or %s", DELETE_FILE_THRESHOLD, DELETE_RATIO_THRESHOLD);
    others.forEach((spec, count) -> add(kinds, count, "of partition spec %s", spec));
    return String.join(", ", kinds) + (others.isEmpty() ? whyEnough(files) : "; new files are of " + rules.newSpecId());
  }

  private static void add(List<String> kinds, long files, String kind, Object... values) {
    if (files > 0) {
      kinds.add(String.format(Locale.ROOT, "%,d files ", files) + String.format(Locale.ROOT, kind, values));
    }
  }

  private String whyEnough(List<FileScanTask> files) {
    if (rules.areMany(files)) {
      return String.format(Locale.ROOT, "; no fewer than %s %,d", MIN_INPUT_FILES, rules.minInputFiles());
    }
    return rules.areLarge(files)
        ? String.format(Locale.ROOT, "; more data than %s %,d", TARGET_FILE_SIZE_BYTES, rules.targetFileSize())
        : "; deletes call for a rewrite of any number of files";
  }

  private String whyTooFew(List<FileScanTask> files) {
    return String.format(
        Locale.ROOT,
        "%,d files, fewer than %s %,d, with no more data than %s %,d",
        files.size(), MIN_INPUT_FILES, rules.minInputFiles(), TARGET_FILE_SIZE_BYTES, rules.targetFileSize());
  }

  private String whyInOrder() {
    return String.format(
        Locale.ROOT,
        "size between %s %,d and %s %,d, and no deletes above %s or %s",
        MIN_FILE_SIZE_BYTES, rules.minFileSize(), MAX_FILE_SIZE_BYTES, rules.maxFileSize(), DELETE_FILE_THRESHOLD,
        DELETE_RATIO_THRESHOLD);
  }

  String whyNothing(int seen, int worth, int resting) {
    String table = rules.tableName();
    if (seen == 0) {
      return String.format("Nothing to rewrite in %s: no data file can hold rows that match the filter.", table);
    }
    if (resting > 0 && worth == 0) {
      return String.format(
          Locale.ROOT,
          "Nothing to rewrite in %s: %,d of %,d data files are %s, and all others are in order. To rewrite them anyway, set option %s"
              + " to true.",
          table, resting, seen, Gathering.WHY, REWRITE_ALL);
    }
    if (worth == 0) {
      return String.format(
          Locale.ROOT,
          "Nothing to rewrite in %s: its size is in order for each of %,d data files (between %s %,d and %s %,d, for a"
              + " target of %,d bytes), and none has deletes above %s or %s. To rewrite them anyway, set option %s to true.",
          table, seen, MIN_FILE_SIZE_BYTES, rules.minFileSize(), MAX_FILE_SIZE_BYTES, rules.maxFileSize(),
          rules.targetFileSize(), DELETE_FILE_THRESHOLD, DELETE_RATIO_THRESHOLD, REWRITE_ALL);
    }
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: %,d of %,d data files are outside %s %,d to %s %,d, but no file group of them has %s %,d"
            + " files or more than %s %,d of data. To rewrite them anyway, set option %s to true, or lower %s or %s.",
        table, worth, seen, MIN_FILE_SIZE_BYTES, rules.minFileSize(), MAX_FILE_SIZE_BYTES, rules.maxFileSize(),
        MIN_INPUT_FILES, rules.minInputFiles(), TARGET_FILE_SIZE_BYTES, rules.targetFileSize(), REWRITE_ALL,
        MIN_INPUT_FILES, TARGET_FILE_SIZE_BYTES);
  }
}
