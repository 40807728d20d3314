package io.icebergzorder.spark.run;

import io.icebergzorder.spark.layout.SampledGroup;
import java.util.List;
import java.util.stream.IntStream;

/** The file groups that one Spark job rewrites; each task writes output files that follow each other, of one group. */
public record GroupJob(List<SampledGroup> groups, boolean isInPlace, int filesPerTask) {
  public GroupJob {
    groups = List.copyOf(groups);
  }

  public boolean isShared() {
    return groups.size() > 1;
  }

  public int inputFiles() {
    return groups.stream().mapToInt(each -> each.group().files().size()).sum();
  }

  public long bytes() {
    return groups.stream().mapToLong(each -> each.group().bytes()).sum();
  }

  /** By group, the number of its first output file. */
  public int[] firstFiles() {
    int[] first = new int[groups.size()];
    for (int group = 1; group < first.length; group++) {
      first[group] = first[group - 1] + files(group - 1);
    }
    return first;
  }

  /** By task that writes, the number of its group. */
  public int[] groupsOfTasks() {
    return IntStream.range(0, groups.size()).flatMap(group -> IntStream.generate(() -> group).limit(tasks(group))).toArray();
  }

  /** By output file, the number of the task that writes it. */
  public int[] tasksOfFiles() {
    IntStream.Builder tasks = IntStream.builder();
    int first = 0;
    for (int group = 0; group < groups.size(); group++) {
      for (int file = 0; file < files(group); file++) {
        tasks.add(first + file / filesPerTask);
      }
      first += tasks(group);
    }
    return tasks.build().toArray();
  }

  private int files(int group) {
    return groups.get(group).layout().files();
  }

  private int tasks(int group) {
    return (files(group) + filesPerTask - 1) / filesPerTask;
  }

  /** The same groups in two jobs, for a shared job that has failed. */
  public List<GroupJob> halves() {
    int middle = groups.size() / 2;
    return List.of(
        new GroupJob(groups.subList(0, middle), isInPlace, filesPerTask),
        new GroupJob(groups.subList(middle, groups.size()), isInPlace, filesPerTask));
  }
}
