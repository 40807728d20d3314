package io.icebergzorder.spark.layout;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.MetricsCheck;
import io.icebergzorder.core.MetricsCheck.GroupKeys;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.CatalogTable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.Table;

/**
 * The columns whose bounds are missing, or too short to distinguish values: see {@link MetricsCheck}.
 *
 * @param parts the full name of the table: catalog, namespace, table
 * @param kept what the table kept of bounds when it was sampled
 * @param areFixed whether the rewrite sets the metrics modes that columns need
 */
public record MetricsFindings(String name, List<String> parts, KeptBounds kept, List<Finding> found, boolean areFixed) {
  /** A column, the mode that it needs, or null if none would help, and what is said of it as a warning and as an error. */
  record Finding(ClusteringColumn column, String wanted, String reason, String refusal, String unit) {
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

  /** Looks at the columns that rows are ordered by; refuses them if the options say so. */
  public static MetricsFindings of(CatalogTable target, TablePlan plan, Collection<PlanSampler.Sampled> samples) {
    KeptBounds kept = KeptBounds.of(target.table(), plan.order().named());
    boolean areFixed = plan.options().layout().fixesMetrics();
    MetricsFindings none = new MetricsFindings(target.name(), target.parts(), kept, List.of(), areFixed);
    List<Finding> found = new ArrayList<>();
    List<ClusteringColumn> columns = plan.order().all();
    for (int i = plan.order().partition().size(); i < columns.size(); i++) {
      int place = i;
      none.look(columns.get(i), () -> samples.stream().map(each -> each.keys(place)).iterator()).ifPresent(found::add);
    }
    if (!found.isEmpty() && plan.options().layout().refusesBadMetrics()) {
      Finding first = found.get(0);
      throw new IllegalArgumentException(
          first.refusal() + (first.wanted() == null ? ", and " + first.unknown() : ": " + none.command(first) + " first"));
    }
    return new MetricsFindings(target.name(), target.parts(), kept, found, areFixed);
  }

  private Optional<Finding> look(ClusteringColumn column, Iterable<GroupKeys> groups) {
    boolean areKept = kept.areKept(column);
    if (areKept && kept.length(column).isEmpty()) {
      return Optional.empty();
    }
    if (!KeptBounds.isCut(column)) {
      return Optional.of(notKept(column, "full", ""));
    }
    boolean isText = KeptBounds.isText(column);
    int length = kept.length(column).orElse(0);
    MetricsCheck check = MetricsCheck.of(isText, length, groups);
    String wanted = check.wanted().isPresent() ? MetricsCheck.truncate(check.wanted().getAsInt()) : null;
    String unit = isText ? "characters" : "bytes";
    if (!areKept) {
      return Optional.of(notKept(column, wanted, unit));
    }
    return check.isEnough() ? Optional.empty() : Optional.of(cutTooShort(column, length, unit, check.share(), wanted));
  }

  private Finding notKept(ClusteringColumn column, String wanted, String unit) {
    String mode = kept.mode(column);
    return new Finding(
        column,
        wanted,
        "%s keeps no lower/upper bounds of clustering column %s (metrics mode %s): filters on it skip no file."
            .formatted(name, column.name(), mode),
        "Cannot cluster by column %s, because %s keeps no lower/upper bounds for it (metrics mode %s), so no file could be skipped"
            .formatted(column.name(), name, mode),
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
            name, column.name(), length, unit, share),
        String.format(
            Locale.ROOT,
            "Cannot cluster by column %s, because %s cuts its lower/upper bounds to %d %s, which distinguish %d%% of the sampled rows",
            column.name(), name, length, unit, share),
        unit);
  }

  private String command(Finding finding) {
    String field = String.join(".", finding.column().parts());
    return MetricsCheck.setMode(ClusteringColumn.quoted(parts), field, finding.wanted());
  }

  private List<Finding> fixable() {
    return areFixed ? found.stream().filter(finding -> finding.wanted() != null).toList() : List.of();
  }

  KeptBounds ofNewFiles() {
    Map<ClusteringColumn, String> wanted = new LinkedHashMap<>();
    fixable().forEach(finding -> wanted.put(finding.column(), finding.wanted()));
    return kept.with(wanted);
  }

  /** What to warn of, with the commands that mend it; nothing if the rewrite itself does. */
  List<String> warnings() {
    return areFixed
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
    return "%s %s = '%s' on %s: %s".formatted(verb, KeptBounds.property(finding.column()), finding.wanted(), name, finding.reason());
  }

  /** The properties that the rewrite is to set, if any: of columns of which the table, as it is known now, keeps too little. */
  public List<Fix> fixes(Table table) {
    if (fixable().isEmpty()) {
      return List.of();
    }
    KeptBounds now = KeptBounds.of(table, fixable().stream().map(Finding::column).toList());
    return fixable().stream()
        .filter(finding -> !now.keepsAsMuchAs(finding.wanted(), finding.column()))
        .map(finding -> new Fix(KeptBounds.property(finding.column()), finding.wanted(), sentence("Set", finding)))
        .toList();
  }
}
