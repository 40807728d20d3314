package io.icebergzorder.spark.run;

import io.icebergzorder.spark.layout.SampledGroup;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Decides which file groups share a Spark job: neighbours, as many as fit, because thousands of jobs would cost much. */
public final class JobPlanner {
  /** The files that a task reads one after the other where others could read some of them meanwhile. */
  private static final int MOST_FILES_IN_A_ROW = 32;

  /** What a task writes at most, if that is more than one file: its start and end take as long as some of these. */
  private static final long MOST_BYTES_OF_SMALL_FILES = 32L << 20;

  /** What a task reads at most to sort it all at once, which is what one reads by default. */
  private static final long MOST_BYTES_IN_PLACE = 128L << 20;

  /** Tasks for each core at least, if one writes several files, so that all are busy to the end. */
  private static final int TASKS_PER_CORE = 4;

  private final Limits limits;
  private final Map<Kind, Open> open = new LinkedHashMap<>();
  private final List<Open> jobs = new ArrayList<>();

  private JobPlanner(Limits limits) {
    this.limits = limits;
  }

  public record Limits(int groups, int files, long shuffledBytes, int parallelism) {
    /** Limits that suit any cluster: a thousand tasks, and as many bytes as a few large files. */
    public static Limits of(int groups, int parallelism) {
      return new Limits(groups, 1_000, 4L << 30, parallelism);
    }
  }

  /** What the groups of a job have in common: how they are read, and the settings of Iceberg's writers. */
  private record Kind(
      boolean isInPlace, boolean isOneFile, int outputSpecId, long maxFileSize, boolean hasFewerFiles) {}

  private static final class Open {
    private final List<SampledGroup> groups = new ArrayList<>();
    private final boolean isInPlace;
    private int mostFiles;
    private long files;
    private long bytes;

    Open(boolean isInPlace) {
      this.isInPlace = isInPlace;
    }

    boolean hasRoomFor(SampledGroup next, Limits limits) {
      return groups.size() < limits.groups
          && files + next.layout().files() <= limits.files
          && (isInPlace || bytes + next.group().bytes() <= limits.shuffledBytes);
    }

    void add(SampledGroup group) {
      groups.add(group);
      mostFiles = Math.max(mostFiles, group.layout().files());
      files += group.layout().files();
      bytes += group.group().bytes();
    }
  }

  public static List<GroupJob> jobs(List<SampledGroup> groups, Limits limits) {
    JobPlanner planner = new JobPlanner(limits);
    // With a group for each core, none is idle while another reads.
    boolean areMany = groups.stream().filter(JobPlanner::isOneFile).count() >= limits.parallelism;
    // A group of several files would keep as many cores busy: it takes a job of more groups.
    long small = groups.stream().filter(JobPlanner::isSmall).count();
    boolean areManySmall = Math.min(small, limits.groups) >= TASKS_PER_CORE * limits.parallelism;
    for (SampledGroup each : groups) {
      boolean isInPlace = isOneFile(each) ? areMany || each.group().files().size() <= MOST_FILES_IN_A_ROW : areManySmall && isSmall(each);
      planner.add(each, isInPlace);
    }
    return planner.jobs.stream().map(planner::closed).toList();
  }

  /** Whether all of its rows go to one file. */
  private static boolean isOneFile(SampledGroup group) {
    return group.layout().files() == 1 && group.group().expectedFiles() == 1 && !group.group().spansPartitions();
  }

  /** Whether a task may read all of it, and sort it into its files. */
  private static boolean isSmall(SampledGroup group) {
    return !group.group().spansPartitions() && group.group().bytes() <= MOST_BYTES_IN_PLACE;
  }

  private GroupJob closed(Open job) {
    if (job.isInPlace) {
      return new GroupJob(job.groups, true, job.mostFiles);
    }
    long bytesOfFile = Math.max(1, job.bytes / job.files);
    long smallFiles = Math.min(MOST_BYTES_OF_SMALL_FILES / bytesOfFile, job.files / (TASKS_PER_CORE * limits.parallelism));
    return new GroupJob(job.groups, false, (int) Math.max(1, smallFiles));
  }

  private void add(SampledGroup group, boolean isInPlace) {
    Kind kind =
        new Kind(
            isInPlace,
            isInPlace && isOneFile(group),
            group.group().specId(),
            group.group().maxOutputFileSize(),
            group.hasFewerFiles());
    Open job = open.get(kind);
    boolean isAlone = group.group().spansPartitions();
    if (job == null || isAlone || !job.hasRoomFor(group, limits)) {
      job = new Open(isInPlace);
      jobs.add(job);
    }
    job.add(group);
    if (isAlone) {
      open.remove(kind, job);
    } else {
      open.put(kind, job);
    }
  }
}
