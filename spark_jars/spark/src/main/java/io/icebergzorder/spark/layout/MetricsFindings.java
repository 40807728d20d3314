package io.icebergzorder.spark.layout;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.MetricsCheck;
import io.icebergzorder.core.MetricsCheck.GroupKeys;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.plan.TablePlan;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Finds the columns whose bounds are missing, or too short to distinguish values: see {@link MetricsCheck}. */
public final class MetricsFindings {
  private final TablePlan plan;
  private final KeptBounds kept;
  private final List<Finding> found = new ArrayList<>();

  private MetricsFindings(TablePlan plan, KeptBounds kept) {
    this.plan = plan;
    this.kept = kept;
  }

  private record Finding(ClusteringColumn column, String wanted, String reason, String refusal, String unit) {
    /** Why no mode is wanted. */
    String unknown() {
      return "no prefix of up to %d %s is known to distinguish enough rows".formatted(MetricsCheck.MOST, unit);
    }

    /** What is said, without a stop, of a column that no mode is named for. */
    String futility() {
      return "%s No metrics mode would help, because %s: choose another column".formatted(reason, unknown());
    }
  }

  public record Fix(String property, String mode, String message) {}

  /** Looks at the columns that rows are ordered by. */
  public static MetricsFindings of(TablePlan plan, Collection<PlanSampler.Sampled> samples) {
    KeptBounds kept = KeptBounds.of(plan.target().table(), plan.order().named());
    MetricsFindings findings = new MetricsFindings(plan, kept);
    List<ClusteringColumn> columns = plan.order().all();
    for (int i = plan.order().partition().size(); i < columns.size(); i++) {
      int place = i;
      findings.look(columns.get(i), () -> samples.stream().map(each -> each.keys(place)).iterator());
    }
    if (!findings.found.isEmpty() && plan.options().layout().refusesBadMetrics()) {
      Finding first = findings.found.get(0);
      throw new IllegalArgumentException(
          first.refusal() + (first.wanted() == null ? ", and " + first.unknown() : ": " + findings.command(first) + " first"));
    }
    return findings;
  }

  private void look(ClusteringColumn column, Iterable<GroupKeys> groups) {
    boolean areKept = kept.areKept(column);
    if (areKept && kept.length(column).isEmpty()) {
      return;
    }
    if (!KeptBounds.isCut(column)) {
      found.add(notKept(column, "full", ""));
      return;
    }
    boolean isText = KeptBounds.isText(column);
    int length = kept.length(column).orElse(0);
    MetricsCheck check = MetricsCheck.of(isText, length, groups);
    String wanted = check.wanted().isPresent() ? MetricsCheck.truncate(check.wanted().getAsInt()) : null;
    String unit = isText ? "characters" : "bytes";
    if (!areKept) {
      found.add(notKept(column, wanted, unit));
    } else if (!check.isEnough()) {
      found.add(cutTooShort(column, length, unit, check.share(), wanted));
    }
  }

  private Finding notKept(ClusteringColumn column, String wanted, String unit) {
    String mode = kept.mode(column);
    return new Finding(
        column,
        wanted,
        "%s keeps no lower/upper bounds of clustering column %s (metrics mode %s): filters on it skip no file."
            .formatted(table(), column.name(), mode),
        "Cannot cluster by column %s, because %s keeps no lower/upper bounds for it (metrics mode %s), so no file could be skipped"
            .formatted(column.name(), table(), mode),
        unit);
  }

  private Finding cutTooShort(ClusteringColumn column, int length, String unit, long share, String wanted) {
    return new Finding(
        column,
        wanted,
        String.format(
            Locale.ROOT,
            "%s cuts lower/upper bounds of clustering column %s to %d %s, which distinguish %d%% of the sampled rows: filters on it"
                + " skip fewer files than they could.",
            table(), column.name(), length, unit, share),
        String.format(
            Locale.ROOT,
            "Cannot cluster by column %s, because %s cuts its lower/upper bounds to %d %s, which distinguish %d%% of the sampled rows",
            column.name(), table(), length, unit, share),
        unit);
  }

  private String table() {
    return plan.target().name();
  }

  private String command(Finding finding) {
    String field = String.join(".", finding.column().parts());
    return MetricsCheck.setMode(ClusteringColumn.quoted(plan.target().parts()), field, finding.wanted());
  }

  private boolean areFixed() {
    return plan.options().layout().fixesMetrics();
  }

  private List<Finding> fixable() {
    return areFixed() ? found.stream().filter(finding -> finding.wanted() != null).toList() : List.of();
  }

  KeptBounds ofNewFiles() {
    Map<ClusteringColumn, String> wanted = new LinkedHashMap<>();
    fixable().forEach(finding -> wanted.put(finding.column(), finding.wanted()));
    return kept.with(wanted);
  }

  /** What to warn of, with the commands that mend it; nothing if the rewrite itself does. */
  List<String> warnings() {
    return areFixed()
        ? found.stream().filter(finding -> finding.wanted() == null).map(finding -> finding.futility() + ".").toList()
        : found.stream().map(this::warning).toList();
  }

  private String warning(Finding finding) {
    String fix = "set option %s to %s".formatted(ZOrderOptions.METRICS_CHECK, ZOrderOptions.METRICS_CHECK_FIX);
    return finding.wanted() == null
        ? "%s, or %s, which samples longer prefixes.".formatted(finding.futility(), fix)
        : "%s %s and rewrite again with option rewrite-all, or %s beside it.".formatted(finding.reason(), command(finding), fix);
  }

  List<String> intentions() {
    return fixable().stream().map(finding -> sentence("Would set", finding)).toList();
  }

  private String sentence(String verb, Finding finding) {
    return "%s %s = '%s' on %s: %s".formatted(verb, KeptBounds.property(finding.column()), finding.wanted(), table(), finding.reason());
  }

  /** The properties that the rewrite is to set, if any: of columns of which the table, as it is known now, keeps too little. */
  public List<Fix> fixes() {
    if (fixable().isEmpty()) {
      return List.of();
    }
    KeptBounds now = KeptBounds.of(plan.target().table(), plan.order().named());
    return fixable().stream()
        .filter(finding -> !now.keepsAsMuchAs(finding.wanted(), finding.column()))
        .map(finding -> new Fix(KeptBounds.property(finding.column()), finding.wanted(), sentence("Set", finding)))
        .toList();
  }
}
