package io.icebergzorder.spark.spec;

import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.metrics.SnapshotFacts;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.SizeBasedFileRewritePlanner;
import org.apache.iceberg.types.Types;

/**
 * The request for a report, resolved on a table. Invalid requests are refused here.
 *
 * @param rewrite the rewrite with the same columns, filter and branch
 */
public record ResolvedReport(
    CatalogTable target,
    List<SnapshotFacts> snapshots,
    ResolvedSortOrder order,
    RewriteOptions options,
    FileScope scope,
    RewriteSpec rewrite) {
  /** Resolves a request; all but the table may be null. Columns default to the table's property or the last rewrite. */
  public static ResolvedReport of(CatalogTable target, String columns, String where, String branchArgument) {
    Table table = target.table();
    // A caching catalog hands out tables as they were when they were first loaded.
    table.refresh();
    Snapshot head = table.snapshot(ResolvedSpec.branch(target, branchArgument, "report on"));
    List<SnapshotFacts> snapshots = head == null ? List.of() : CatalogTable.snapshotsTo(table, head.snapshotId());
    String sortOrder = columns == null ? remembered(target, snapshots) : columns;
    SortOrder parsed = SortOrder.parse(sortOrder);
    RewriteOptions options = RewriteOptions.of(TableDefaults.options(target, parsed, Map.of()), false);
    ResolvedSortOrder order = ClusteringColumns.resolve(target, parsed, options.layout(), table.spec(), true);
    FileScope scope = new FileScope(ResolvedSpec.filter(target, where), target.isCaseSensitive());
    // What is rewritten whatever comes of it is not recommended.
    Map<String, String> asked = Map.of(SizeBasedFileRewritePlanner.REWRITE_ALL, "false");
    RewriteSpec rewrite = new RewriteSpec(target.name(), sortOrder, asked, where, branchArgument, false);
    return new ResolvedReport(target, snapshots, order, options, scope, rewrite);
  }

  /** Resolves the rewrite on the same state of the table, or refuses it as a CALL would. */
  public ResolvedSpec toRewrite() {
    return ResolvedSpec.ofPlanned(target, TableDefaults.complete(target, rewrite), rewrite.where());
  }

  /** The sort order of the table's property, else of our newest rewrite. */
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
                ("Cannot report on %s, because no columns are named and its snapshots have no rewrite:"
                        + " name the columns that queries filter on")
                    .formatted(table.name())));
  }

  /** The sort order of one of our rewrites, with its columns' current names. */
  private static SortOrder sortOrder(Table table, SnapshotFacts layout) {
    Snapshot snapshot = table.snapshot(layout.id());
    Schema schema = snapshot == null || snapshot.schemaId() == null ? null : table.schemas().get(snapshot.schemaId());
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
