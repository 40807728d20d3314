package io.icebergzorder.spark.run;

import io.icebergzorder.spark.commit.RewriteCommit;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.jobs.GroupJob;
import io.icebergzorder.spark.jobs.JobPlanner;
import io.icebergzorder.spark.jobs.GroupJob.LaidOutGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.sample.FittedLayouts;
import io.icebergzorder.spark.sample.MetricsFindings;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.spark.SparkWriteConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** From a plan and its layouts to new files in the table, through {@link GroupExecution}. */
public final class RewriteRun {
  private static final Logger LOG = LoggerFactory.getLogger(RewriteRun.class);

  private RewriteRun() {}

  public record Outcome(
      RewriteDataFiles.Result result,
      Map<String, Double> before,
      Map<String, Double> predicted,
      Map<String, Double> actual,
      Optional<FittedLayouts.WorkloadReads> workload,
      List<String> messages) {}

  public static Outcome run(RewriteSession session, TablePlan plan, FittedLayouts fitted, long since)
      throws InterruptedException {
    List<MetricsFindings.Fix> fixes = set(plan.target().table(), fitted);
    try {
      return rewritten(session, plan, fitted, since, fitted.told(fixes.stream().map(MetricsFindings.Fix::told).toList()));
    } catch (Throwable e) {
      if (!fixes.isEmpty()) {
        String properties =
            fixes.stream().map(fix -> fix.property() + " = '" + fix.mode() + "'").collect(Collectors.joining(", "));
        LOG.warn("What the rewrite of {} set before it ended stays: {}", plan.target().name(), properties);
      }
      throw e;
    }
  }

  private static Outcome rewritten(
      RewriteSession session, TablePlan plan, FittedLayouts fitted, long since, List<String> messages) throws InterruptedException {
    Table table = plan.target().table();
    SparkWriteConf settings =
        (SparkWriteConf)
            SparkInternals.construct(SparkWriteConf.class, session.spark(), table, CaseInsensitiveStringMap.empty());
    RunMeasurement measurement = new RunMeasurement(plan, fitted, settings.extraSnapshotMetadata(), since);
    RewriteCommit commit =
        new RewriteCommit(table, plan.branch(), plan.snapshotId().getAsLong(), plan.options(), groups -> {
          Map<String, String> summary = new HashMap<>(settings.extraSnapshotMetadata());
          summary.putAll(measurement.summary(groups));
          return summary;
        });
    GroupRewriter rewriter = new GroupRewriter(session, table, plan.order());
    RewriteDataFiles.Result result =
        new GroupExecution(session.spark(), table, plan.options(), commit)
            .run(new FileGroupPool(rewriter, jobs(session, plan, fitted), unsampled(fitted)));
    return measurement.outcome(result, messages);
  }

  /** Sets the metrics modes by which new files keep bounds that serve, before any is written. */
  private static List<MetricsFindings.Fix> set(Table table, FittedLayouts fitted) {
    List<MetricsFindings.Fix> fixes = fitted.groups().isEmpty() ? List.of() : fitted.metrics().fixes();
    if (!fixes.isEmpty()) {
      Map<String, String> properties = new LinkedHashMap<>();
      fixes.forEach(fix -> properties.put(fix.property(), fix.mode()));
      RewriteCommit.setProperties(table, properties);
    }
    fixes.forEach(fix -> LOG.info(fix.told()));
    return fixes;
  }

  private static List<GroupJob> jobs(RewriteSession session, TablePlan plan, FittedLayouts fitted) {
    int count = fitted.groups().size() + fitted.failures().size();
    List<LaidOutGroup> groups =
        fitted.groups().entrySet().stream()
            .map(each -> new LaidOutGroup(each.getKey().toRewrite(), each.getValue().layout()))
            .toList();
    // What is committed together may as well be rewritten together, and no more than that.
    int together = plan.options().partialProgress().map(progress -> progress.groupsPerCommit(count)).orElse(count);
    return JobPlanner.jobs(groups, JobPlanner.Limits.of(together, SparkInternals.parallelism(session.spark())));
  }

  private static Map<RewriteFileGroup, Throwable> unsampled(FittedLayouts fitted) {
    Map<RewriteFileGroup, Throwable> groups = new LinkedHashMap<>();
    fitted.failures().forEach((group, failure) -> groups.put(group.toRewrite(), failure));
    return groups;
  }
}
