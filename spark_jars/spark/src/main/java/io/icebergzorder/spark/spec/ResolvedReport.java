package io.icebergzorder.spark.spec;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.metrics.SnapshotFacts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.SnapshotUtil;

/** The request for a report, resolved against a table. Every invalid request is refused here. */
public record ResolvedReport(
    CatalogTable target, List<SnapshotFacts> snapshots, ResolvedSortOrder order, RewriteOptions options, String where, FileScope scope) {
  /** Resolves a request, in which all but the table may be null; columns the table or its snapshots may remember. */
  public static ResolvedReport of(CatalogTable target, String columns, String where, String branchArgument) {
    Table table = target.table();
    // A caching catalog hands out tables as they were when they were first loaded.
    table.refresh();
    List<SnapshotFacts> snapshots = snapshots(table, ResolvedSpec.branch(target, branchArgument, "report on"));
    String sortOrder = columns == null ? remembered(target, snapshots) : columns;
    SortOrder parsed = SortOrder.parse(sortOrder);
    RewriteOptions options = RewriteOptions.of(TableDefaults.options(target, parsed, Map.of()));
    ResolvedSortOrder order = ClusteringColumns.resolve(target, parsed, options.layout(), table.spec(), true);
    FileScope scope = new FileScope(ResolvedSpec.filter(target, where), target.isCaseSensitive());
    return new ResolvedReport(target, snapshots, order, options, where, scope);
  }

  private static List<SnapshotFacts> snapshots(Table table, String branch) {
    List<SnapshotFacts> found = new ArrayList<>();
    if (table.refs().containsKey(branch)) {
      for (Snapshot each : SnapshotUtil.ancestorsOf(table.refs().get(branch).snapshotId(), table::snapshot)) {
        found.add(0, facts(each));
      }
    }
    return found;
  }

  public static SnapshotFacts facts(Snapshot snapshot) {
    Map<String, String> summary = snapshot.summary() == null ? Map.of() : snapshot.summary();
    String operation = snapshot.operation() == null ? "append" : snapshot.operation();
    return new SnapshotFacts(snapshot.snapshotId(), snapshot.timestampMillis(), operation, summary);
  }

  /** Whether a rewrite of ours had the columns, prefix, curve and cuts of this report, whatever their names then. */
  public boolean isSame(SnapshotFacts layout) {
    if (!options.layout().cuts().equals(layout.cuts())) {
      return false;
    }
    Schema then = schemaOf(target.table(), layout);
    if (then == null) {
      return layout.isBy(order.sortOrder());
    }
    Schema now = target.table().schema();
    Function<ClusteringColumn, Integer> idOf = column -> now.findField(String.join(".", column.parts())).fieldId();
    if (order.named().stream().map(idOf).anyMatch(id -> then.findField(id) == null)) {
      return false;
    }
    ResolvedSortOrder renamed = order.renamed(column -> ClusteringColumns.parts(then, idOf.apply(column)));
    return layout.isBy(renamed.sortOrder());
  }

  private static Schema schemaOf(Table table, SnapshotFacts layout) {
    Snapshot snapshot = table.snapshot(layout.id());
    return snapshot == null || snapshot.schemaId() == null ? null : table.schemas().get(snapshot.schemaId());
  }

  /** The sort order that the table remembers, or that of the newest rewrite of ours. */
  private static String remembered(CatalogTable target, List<SnapshotFacts> snapshots) {
    Table table = target.table();
    String property = TableDefaults.sortOrder(target);
    if (property != null) {
      return property;
    }
    return snapshots.stream()
        .filter(SnapshotFacts::isLayout)
        .reduce((older, newer) -> newer)
        .map(layout -> sortOrder(table, layout).text())
        .orElseThrow(() ->
            new IllegalArgumentException(
                ("Cannot report on %s, because no columns are named and no snapshot of it tells of a rewrite by any:"
                        + " name the columns that queries filter on")
                    .formatted(table.name())));
  }

  /** Writes the sort order of a rewrite of ours, whose summary has the names that its columns had then. */
  private static SortOrder sortOrder(Table table, SnapshotFacts layout) {
    Schema schema = schemaOf(table, layout);
    return SortOrder.parse(layout.sortOrder()).renamed(parts -> nameOfToday(table, layout.id(), schema, parts));
  }

  private static List<String> nameOfToday(Table table, long snapshotId, Schema schema, List<String> parts) {
    Types.NestedField field = schema == null ? null : schema.findField(String.join(".", parts));
    if (field == null) {
      return parts;
    }
    if (table.schema().findField(field.fieldId()) == null) {
      throw new IllegalArgumentException(
          ("Cannot report on %s, because column '%s' of the last rewrite (snapshot %d) was dropped: name the columns that queries"
                  + " filter on")
              .formatted(table.name(), String.join(".", parts), snapshotId));
    }
    return ClusteringColumns.parts(table.schema(), field.fieldId());
  }
}
