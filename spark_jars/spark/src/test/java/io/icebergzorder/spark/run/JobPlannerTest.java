package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Curve;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.metrics.LaidOutSample;
import io.icebergzorder.spark.WholeFile;
import io.icebergzorder.spark.layout.SampledGroup;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
import io.icebergzorder.spark.plan.FileGroup;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.FileScanTask;
import org.junit.jupiter.api.Test;

/** Which file groups share a job, and how the tasks and files of one are numbered. */
class JobPlannerTest {
  private static final JobPlanner.Limits LIMITS = new JobPlanner.Limits(100, 10, 1_000, 2);

  @Test
  void smallGroupsShareAJobInTheirOrder() {
    List<SampledGroup> groups = IntStream.range(0, 25).mapToObj(i -> group(1, 2, 10)).toList();
    List<GroupJob> jobs = JobPlanner.jobs(groups, LIMITS);
    assertEquals(List.of(10, 10, 5), sizes(jobs));
    assertEquals(groups, jobs.stream().flatMap(job -> job.groups().stream()).toList());
    assertTrue(jobs.stream().allMatch(GroupJob::isInPlace));
  }

  @Test
  void noMoreShareAJobThanACommitTakes() {
    List<SampledGroup> groups = IntStream.range(0, 7).mapToObj(i -> group(1, 2, 10)).toList();
    assertEquals(List.of(3, 3, 1), sizes(JobPlanner.jobs(groups, new JobPlanner.Limits(3, 10, 1_000, 2))));
  }

  @Test
  void groupsOfSeveralFilesShareOneByFilesAndBytes() {
    List<SampledGroup> groups = List.of(group(4, 2, 100), group(4, 2, 100), group(4, 2, 100));
    List<GroupJob> jobs = JobPlanner.jobs(groups, LIMITS);
    assertEquals(List.of(2, 1), sizes(jobs));
    assertFalse(jobs.get(0).isInPlace());
    assertEquals(List.of(1, 1), sizes(JobPlanner.jobs(List.of(group(2, 2, 600), group(2, 2, 600)), LIMITS)));
  }

  @Test
  void aLargeGroupHasAJobOfItsOwnAndSmallOnesGoOnSharing() {
    List<SampledGroup> groups = List.of(group(2, 2, 10), group(50, 2, 10), group(2, 2, 10));
    List<GroupJob> jobs = JobPlanner.jobs(groups, LIMITS);
    assertEquals(List.of(1, 1, 1), sizes(jobs));
    assertEquals(groups.get(1), jobs.get(1).groups().get(0));
  }

  @Test
  void groupsOfOneFileAndOthersAreInJobsOfTheirOwn() {
    List<SampledGroup> groups = List.of(group(1, 2, 10), group(2, 2, 10), group(1, 2, 10), group(2, 2, 10));
    List<GroupJob> jobs = JobPlanner.jobs(groups, LIMITS);
    assertEquals(List.of(List.of(groups.get(0), groups.get(2)), List.of(groups.get(1), groups.get(3))), groups(jobs));
    assertEquals(List.of(true, false), jobs.stream().map(GroupJob::isInPlace).toList());
  }

  @Test
  void manySmallInputsOfFewGroupsAreReadSideBySide() {
    assertFalse(JobPlanner.jobs(List.of(group(1, 33, 10)), LIMITS).get(0).isInPlace());
    assertTrue(JobPlanner.jobs(List.of(group(1, 32, 10)), LIMITS).get(0).isInPlace());
    // With a group for each core, all are busy anyway.
    assertTrue(JobPlanner.jobs(List.of(group(1, 33, 10), group(1, 33, 10)), LIMITS).get(0).isInPlace());
  }

  @Test
  void manySmallGroupsOfSeveralFilesAreSortedWhereTheyAreRead() {
    SampledGroup large = group(5, 2, 200L << 20);
    List<SampledGroup> groups = IntStream.range(0, 8).mapToObj(i -> i == 0 ? large : group(1 + i % 3, 2, 100)).toList();
    JobPlanner.Limits wide = new JobPlanner.Limits(100, 1_000, Long.MAX_VALUE, 2);
    assertTrue(JobPlanner.jobs(groups, wide).stream().noneMatch(job -> job.isInPlace() && job.filesPerTask() > 1));
    List<SampledGroup> more = Stream.concat(groups.stream(), Stream.of(group(2, 2, 100))).toList();
    List<GroupJob> jobs = JobPlanner.jobs(more, wide);
    assertEquals(List.of(false, true, true), jobs.stream().map(GroupJob::isInPlace).toList());
    assertEquals(List.of(large), jobs.get(0).groups());
    GroupJob several = jobs.get(1);
    // A task for each group, whatever its files.
    assertArrayEquals(IntStream.range(0, several.groups().size()).toArray(), several.groupsOfTasks());
    assertTrue(several.groups().stream().allMatch(each -> each.layout().files() > 1));
    assertEquals(1, jobs.get(2).filesPerTask());
  }

  @Test
  void aGroupThatChangesItsSpecIsAlone() {
    SampledGroup changing = group(1, 2, 10, 7);
    List<SampledGroup> groups = List.of(group(1, 2, 10), changing, changing, group(1, 2, 10));
    List<GroupJob> jobs = JobPlanner.jobs(groups, LIMITS);
    assertEquals(List.of(2, 1, 1), sizes(jobs));
    assertFalse(jobs.get(1).isInPlace());
  }

  @Test
  void aTaskWritesSeveralSmallFilesWhileThereAreTasksEnough() {
    JobPlanner.Limits wide = new JobPlanner.Limits(100, 1_000, Long.MAX_VALUE, 2);
    assertEquals(12, JobPlanner.jobs(List.of(group(100, 2, 50)), wide).get(0).filesPerTask());
    assertEquals(1, JobPlanner.jobs(List.of(group(15, 2, 50)), wide).get(0).filesPerTask());
    assertEquals(3, JobPlanner.jobs(List.of(group(100, 1, 1_000L << 20)), wide).get(0).filesPerTask());
    assertEquals(1, JobPlanner.jobs(List.of(group(100, 1, 6_000L << 20)), wide).get(0).filesPerTask());
  }

  private static List<Integer> sizes(List<GroupJob> jobs) {
    return jobs.stream().map(job -> job.groups().size()).toList();
  }

  private static List<List<SampledGroup>> groups(List<GroupJob> jobs) {
    return jobs.stream().map(GroupJob::groups).toList();
  }

  private static SampledGroup group(int files, int inputs, long bytes) {
    return group(files, inputs, bytes, WholeFile.SPEC.specId());
  }

  private static SampledGroup group(int files, int inputs, long bytes, int outputSpec) {
    List<FileScanTask> tasks = Collections.nCopies(inputs, new WholeFile("f.parquet", bytes / inputs, 1));
    FileGroup group = new FileGroup(1, 1, null, tasks, outputSpec, 1_000, files, List.of(), Map.of(), false);
    LaidOutSample sample = new LaidOutSample(layout(files), null, null, inputs, bytes, files);
    return new SampledGroup(group, sample, null, null, TableReads.NONE, TableReads.NONE, null, null, 0, 0);
  }

  /** One column of as many values as there are files, evenly cut. */
  private static Layout layout(int files) {
    long[] keys = IntStream.range(0, Math.max(2, files)).asLongStream().toArray();
    Sample sample = new Sample(List.of(KeyColumn.ofLongs(keys, new byte[keys.length])));
    List<ClusteringColumn> columns = List.of(new ClusteringColumn(List.of("a"), "long"));
    Layout layout = Layout.fit(columns, sample, new LayoutRequest(files, "even", Curve.ZORDER, List.of(), 4096, 0.25, new double[0]));
    assertEquals(files, layout.files());
    return layout;
  }
}
