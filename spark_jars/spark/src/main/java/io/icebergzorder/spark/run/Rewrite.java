package io.icebergzorder.spark.run;

import io.icebergzorder.spark.commit.RewriteCommit;
import io.icebergzorder.spark.commit.RewriteCommit.Conflict;
import io.icebergzorder.spark.commit.RewriteCommit.TranslatedDeletes;
import io.icebergzorder.spark.commit.UnknownCommitException;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.PhysicalTypeCheck;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.layout.LayoutFitter;
import io.icebergzorder.spark.layout.MetricsFindings;
import io.icebergzorder.spark.layout.PlanSampler;
import io.icebergzorder.spark.layout.SampledPlan;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.ResolvedSpec;
import io.icebergzorder.spark.spec.RewriteOptions;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RemoveDanglingDeleteFiles;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.spark.SparkWriteConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A whole rewrite, list → select → sample → fit → write → commit:
 *
 * <ul>
 *   <li>a {@link ResolvedSpec} holds what a user asks for, as it was resolved on a {@link CatalogTable};
 *   <li>a {@link TablePlan} holds the file groups, and the reasons why they were chosen;
 *   <li>a {@link SampledPlan} adds a layout and predictions for each file group;
 *   <li>a {@link RewriteResult} holds the outcome.
 * </ul>
 */
public final class Rewrite {
  private static final Logger LOG = LoggerFactory.getLogger(Rewrite.class);
  private static final int ID_DIGITS = 16;

  /** Attempts before conflicts are failures, as many as the PyIceberg engine makes. */
  private static final int MOST_ATTEMPTS = 3;

  private Rewrite() {}

  /** Some file groups with their new files, and the reads of filters on these groups and on the files that are left. */
  public record Measured(List<GroupResult> groups, TableReads before, TableReads predicted, TableReads actual) {
    static final Measured NONE = new Measured(List.of(), TableReads.NONE, TableReads.NONE, TableReads.NONE);
  }

  /**
   * What a rewrite did, with the committed file groups, and those that conflicted with another operation. The result is empty if sampling
   * showed at once that no file group would gain.
   */
  public record RewriteResult(
      SampledPlan sampled,
      Optional<RewriteDataFiles.Result> result,
      Measured measured,
      List<String> warnings,
      List<String> events,
      long translatedDeletes,
      Optional<Conflict> conflict) {
    private static final int LONGEST_REASON = 400;

    /** The committed file groups. */
    public List<GroupResult> groups() {
      return measured.groups;
    }

    /** What the user should know, in sentences. */
    public List<String> messages() {
      return concat(groups().isEmpty() ? List.of() : warnings, events);
    }

    private static RewriteResult nothing(SampledPlan sampled) {
      return new RewriteResult(sampled, Optional.empty(), Measured.NONE, List.of(), List.of(), 0, Optional.empty());
    }

    private RewriteResult ended(RewriteDataFiles.Result counts, List<String> more) {
      return new RewriteResult(
          sampled, Optional.of(counts), measured, warnings, concat(events, more), translatedDeletes, Optional.empty());
    }

    /** The result if there is nothing left to do with the file groups that conflicted. */
    private RewriteResult withoutMore(String why) {
      return ended(result.orElseThrow(), List.of(plannedAgain(), why));
    }

    /** The result if file groups that conflicted are not tried any more; fails unless partial progress tolerates it. */
    private RewriteResult withFailures(String table, String why) {
      Conflict last = conflict.orElseThrow();
      Optional<RewriteOptions.PartialProgress> progress = sampled.plan().options().partialProgress();
      if (groups().isEmpty() || progress.isEmpty() || last.commits() > progress.get().maxFailedCommits()) {
        throw RewriteCommit.failure(table, new RuntimeException(last.why().getMessage() + why, last.why()), groups().size());
      }
      RewriteDataFiles.Result done = result.orElseThrow();
      RewriteDataFiles.Result all =
          ImmutableRewriteDataFiles.Result.builder()
              .rewriteResults(done.rewriteResults())
              .removedDeleteFilesCount(done.removedDeleteFilesCount())
              .addAllRewriteFailures(done.rewriteFailures())
              .addAllRewriteFailures(last.groups().stream().map(group -> GroupExecution.failure(group.info(), group.inputFileNum())).toList())
              .build();
      return ended(all, List.of("In the end these still conflicted: " + reason() + why + "."));
    }

    private String plannedAgain() {
      return String.format(
          Locale.ROOT,
          "%,d of %,d file groups were planned again, because another operation changed their files meanwhile: %s.",
          conflict.orElseThrow().groups().size(), sampled.groups().size(), reason());
    }

    /** Why file groups conflicted; Iceberg may name all of their files. */
    private String reason() {
      return Failures.shortened(conflict.orElseThrow().why().getMessage(), LONGEST_REASON);
    }

    /** This, and then the rewrite of the file groups that conflicted: reads are those before the first, and after the last that committed. */
    private RewriteResult and(RewriteResult later) {
      RewriteDataFiles.Result first = result.orElseThrow();
      RewriteDataFiles.Result second = later.result.orElseThrow();
      RewriteDataFiles.Result both =
          ImmutableRewriteDataFiles.Result.builder()
              .addAllRewriteResults(first.rewriteResults())
              .addAllRewriteResults(second.rewriteResults())
              .addAllRewriteFailures(first.rewriteFailures())
              .addAllRewriteFailures(second.rewriteFailures())
              .removedDeleteFilesCount(first.removedDeleteFilesCount() + second.removedDeleteFilesCount())
              .build();
      Measured all =
          new Measured(concat(groups(), later.groups()), sampled.before(), later.measured.predicted, later.measured.actual);
      return new RewriteResult(
          sampled,
          Optional.of(both),
          later.groups().isEmpty() ? measured : all,
          groups().isEmpty() ? later.warnings : warnings,
          concat(events, concat(List.of(plannedAgain()), later.events)),
          translatedDeletes + later.translatedDeletes,
          later.conflict);
    }

    private static <T> List<T> concat(List<T> first, List<T> second) {
      return Stream.concat(first.stream(), second.stream()).toList();
    }
  }

  /** Samples the clustering columns in one Spark job, and fits layouts. Writes nothing. */
  public static SampledPlan sample(CatalogTable target, TablePlan plan) {
    try (RewriteSession session = new RewriteSession(target.session())) {
      SampledPlan sampled = sampleAndFit(session, target, plan, false, "Cannot sample %s, because %s. Nothing was written.");
      sampled.warningsOfPlan().forEach(LOG::warn);
      return sampled;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RuntimeException("Cannot sample %s, because it was interrupted".formatted(target.name()), e);
    }
  }

  /** Writes the new files of a plan, and commits them. Samples the plan first if {@code sampled} is empty. */
  public static RewriteResult execute(CatalogTable target, TablePlan plan, Optional<SampledPlan> sampled) {
    long since = System.nanoTime();
    boolean interrupted = false;
    try (RewriteSession session = new RewriteSession(target.session())) {
      SampledPlan toWrite = sampled.isPresent() ? recheckTypes(session, target, sampled.get()) : sampleToWrite(session, target, plan);
      String id = UUID.randomUUID().toString().replace("-", "").substring(0, ID_DIGITS);
      return toWrite.isNothing() ? RewriteResult.nothing(toWrite) : rewriteAll(new Attempt(session, target, toWrite, id, 1), since);
    } catch (InterruptedException e) {
      interrupted = true;
      String message = "Cannot complete the rewrite of %s, because it was interrupted".formatted(target.name());
      throw new RuntimeException(e.getMessage() != null && e.getMessage().startsWith(message) ? e.getMessage() : message, e);
    } finally {
      // Partial progress, or a commit whose outcome is unknown, may have changed the table before a failure.
      target.refreshCaches();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Checks the files' Parquet types again, because the plan may have been sampled in another session. */
  private static SampledPlan recheckTypes(RewriteSession session, CatalogTable target, SampledPlan sampled) {
    PhysicalTypeCheck.check(session, target.table(), sampled.plan().inputFiles());
    return sampled;
  }

  private static SampledPlan sampleToWrite(RewriteSession session, CatalogTable target, TablePlan plan) throws InterruptedException {
    boolean failAlone = plan.options().partialProgress().isPresent();
    String failureMessage = "Cannot complete the rewrite of %s, because sampling failed: %s. Nothing was committed.";
    SampledPlan sampled = sampleAndFit(session, target, plan, failAlone, failureMessage);
    sampled.warnings(List.of()).forEach(LOG::warn);
    return sampled;
  }

  /** Samples, checks bounds, and chooses layouts. Exceptions of the two checks pass unchanged; others get {@code failureMessage}. */
  private static SampledPlan sampleAndFit(
      RewriteSession session, CatalogTable target, TablePlan plan, boolean failAlone, String failureMessage) throws InterruptedException {
    PhysicalTypeCheck.check(session, target.table(), plan.inputFiles());
    LayoutFitter fitter = new LayoutFitter(target, plan);
    PlanSampler sampler = new PlanSampler(session, target, plan, fitter, failAlone);
    Map<FileGroup, PlanSampler.Sampled> samples = namingFailure(target, failureMessage, sampler::sample);
    MetricsFindings metrics = MetricsFindings.of(target, plan, samples.values());
    return namingFailure(target, failureMessage, () -> fitter.choose(sampler, samples, metrics));
  }

  /** Runs {@code work}; wraps its exception in one whose message has the table's name and the reason. */
  private static <T> T namingFailure(CatalogTable target, String message, Supplier<T> work) throws InterruptedException {
    try {
      return work.get();
    } catch (Throwable e) {
      // Spark throws InterruptedException without declaring it.
      if (e instanceof InterruptedException interruption) {
        throw interruption;
      }
      throw new RuntimeException(String.format(message, target.name(), Failures.rootMessage(e)), e);
    }
  }

  /** A plan to write and commit; the attempts of a rewrite have one id. */
  private record Attempt(RewriteSession session, CatalogTable target, SampledPlan sampled, String id, int number) {
    /**
     * Plans what remains of file groups that conflicted.
     *
     * @throws IllegalStateException if the plan is stale for another reason
     */
    TablePlan planAgain(Conflict conflict) {
      Set<Integer> conflicting = conflict.groups().stream().map(group -> group.info().globalIndex()).collect(Collectors.toSet());
      List<FileGroup> groups = sampled.plan().groups().stream().filter(group -> conflicting.contains(group.index())).toList();
      try {
        return sampled.plan().withRemainingFiles(target.table(), groups);
      } catch (IllegalStateException e) {
        throw new IllegalStateException("the table's schema, its partition spec or the branch has changed, too", e);
      }
    }
  }

  /** Rewrites; file groups that conflict with other operations are planned and rewritten again. */
  private static RewriteResult rewriteAll(Attempt first, long since) throws InterruptedException {
    String table = first.target.name();
    Attempt attempt = first;
    RewriteResult result = rewrite(first, since);
    while (result.conflict.isPresent()) {
      if (attempt.number == MOST_ATTEMPTS) {
        return result.withFailures(table, "");
      }
      long begun = System.nanoTime();
      String committed =
          result.groups().isEmpty() ? "" : String.format(Locale.ROOT, " %,d other file groups were committed before.", result.groups().size());
      try {
        TablePlan plan = attempt.planAgain(result.conflict.get());
        if (plan.groups().isEmpty()) {
          return result.withoutMore(plan.whyNothing());
        }
        SampledPlan sampled = sampleToWrite(first.session, first.target, plan);
        if (sampled.isNothing()) {
          return result.withoutMore(sampled.whyNothing());
        }
        attempt = new Attempt(first.session, first.target, sampled, first.id, attempt.number + 1);
        result = result.and(rewrite(attempt, begun));
      } catch (UnknownCommitException e) {
        throw new UnknownCommitException(e.getMessage() + committed, e);
      } catch (InterruptedException e) {
        InterruptedException interrupted =
            new InterruptedException("Cannot complete the rewrite of %s, because it was interrupted.%s".formatted(table, committed));
        interrupted.initCause(e);
        throw interrupted;
      } catch (RuntimeException e) {
        if (Failures.isCancellation(e)) {
          throw new RuntimeException("Cannot complete the rewrite of %s, because it was cancelled.%s".formatted(table, committed), e);
        }
        String why = e instanceof IllegalStateException ? e.getMessage() : Failures.rootMessage(e);
        return result.withFailures(table, "; the file groups were not rewritten again, because " + why);
      }
    }
    return result;
  }

  private static RewriteResult rewrite(Attempt attempt, long since) throws InterruptedException {
    SampledPlan sampled = attempt.sampled;
    TablePlan plan = sampled.plan();
    String table = attempt.target.name();
    LOG.info(
        "Rewriting {} file groups of {} by {} of {}",
        sampled.groups().size(), table, plan.order().curve().label(), plan.order().names(", "));
    List<MetricsFindings.Fix> fixes = setMetricsModes(attempt.target.table(), sampled);
    try {
      return writeAndCommit(attempt, since, sampled.warnings(fixes.stream().map(MetricsFindings.Fix::message).toList()));
    } catch (Throwable e) {
      if (!fixes.isEmpty()) {
        String properties = fixes.stream().map(fix -> fix.property() + " = '" + fix.mode() + "'").collect(Collectors.joining(", "));
        LOG.warn("The failed rewrite of {} has set properties: {}", table, properties);
      }
      throw e;
    }
  }

  /** Writes and commits the file groups. A Spark job has several file groups, and several jobs run at a time. */
  private static RewriteResult writeAndCommit(Attempt attempt, long since, List<String> warnings) throws InterruptedException {
    RewriteSession session = attempt.session;
    SampledPlan sampled = attempt.sampled;
    TablePlan plan = sampled.plan();
    Table table = attempt.target.table();
    SparkWriteConf settings =
        (SparkWriteConf)
            SparkInternals.construct(SparkWriteConf.class, session.spark(), table, CaseInsensitiveStringMap.empty());
    RunMeasurement measurement = new RunMeasurement(attempt.target, sampled, settings.extraSnapshotMetadata(), attempt.id, since);
    RewriteCommit commit = new RewriteCommit(session, table, plan, measurement::summary);
    GroupRewriter rewriter = new GroupRewriter(session, table, plan.order());
    FileGroupPool pool = new FileGroupPool(rewriter, commit, plan.options(), planJobs(session, sampled), sampled.failures());
    // Made before anything is written: an Iceberg that cannot do it is refused.
    Optional<RemoveDanglingDeleteFiles> removal =
        plan.options().removeDanglingDeletes()
            ? Optional.of(SparkInternals.removalOfDanglingDeletes(session.spark(), table, plan.spec().branch(), measurement.commonSummary()))
            : Optional.empty();
    GroupExecution.Executed done = new GroupExecution(table, plan.options(), commit, removal).run(pool);
    Measured measured = measurement.committed(done.result());
    TranslatedDeletes translated = commit.translated();
    List<String> events = translated.message().stream().toList();
    return new RewriteResult(sampled, Optional.of(done.result()), measured, warnings, events, translated.rows(), done.conflict());
  }

  /** Sets the metrics modes that new files need for useful bounds, before the first file is written. */
  private static List<MetricsFindings.Fix> setMetricsModes(Table table, SampledPlan sampled) {
    List<MetricsFindings.Fix> fixes = sampled.groups().isEmpty() ? List.of() : sampled.metrics().fixes(table);
    if (!fixes.isEmpty()) {
      Map<String, String> properties = new LinkedHashMap<>();
      fixes.forEach(fix -> properties.put(fix.property(), fix.mode()));
      RewriteCommit.setProperties(table, properties);
    }
    fixes.forEach(fix -> LOG.info(fix.message()));
    return fixes;
  }

  private static List<GroupJob> planJobs(RewriteSession session, SampledPlan sampled) {
    int count = sampled.groups().size() + sampled.failures().size();
    // A job never has more file groups than one commit.
    int groupsPerJob = sampled.plan().options().partialProgress().map(progress -> progress.groupsPerCommit(count)).orElse(count);
    return JobPlanner.jobs(
        List.copyOf(sampled.groups().values()), JobPlanner.Limits.of(groupsPerJob, SparkInternals.parallelism(session.spark())));
  }
}
