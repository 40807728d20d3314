package io.icebergzorder.spark.spec;

import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.select.RequestKey;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.SupportedVersions;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.IcebergBuild;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.AnalysisException;

/** A spec, as it was resolved on a table. Invalid specs are refused here, before data is read or written. */
public record ResolvedSpec(
    RewriteSpec written,
    RewriteOptions options,
    String branch,
    ResolvedSortOrder order,
    FileScope scope,
    Optional<Workload> workload) {
  /** Resolves a spec, completed by the table's default columns and options. */
  public static ResolvedSpec of(CatalogTable target, RewriteSpec written) {
    // A caching catalog hands out tables as they were when they were first loaded.
    target.table().refresh();
    RewriteSpec spec = TableDefaults.complete(target, written);
    return ofPlanned(target, spec, spec.where());
  }

  /** Resolves a complete spec, with the filter for listing files; null for all. */
  public static ResolvedSpec ofPlanned(CatalogTable target, RewriteSpec spec, String where) {
    Table table = target.table();
    checkColumns(table);
    RewriteOptions options = RewriteOptions.of(spec.options(), spec.likeBuiltin());
    SortOrder sortOrder = sortOrder(target, spec);
    String branch = branchToRewrite(target, spec);
    ResolvedSortOrder order = ClusteringColumns.resolve(target, sortOrder, options.layout(), outputSpec(table, options), false);
    FileScope scope = new FileScope(filter(target, where), target.isCaseSensitive());
    double share = options.layout().workloadShare();
    Optional<Workload> workload =
        options.layout().workload()
            .map(text -> Workload.of(text, share, table, target.isCaseSensitive(), each -> filter(target, each)));
    return new ResolvedSpec(spec, options, branch, order, scope, workload);
  }

  /** Refuses names that Iceberg's metadata columns have: Spark reads those in place of the table's own. */
  private static void checkColumns(Table table) {
    for (Types.NestedField column : table.schema().columns()) {
      if (MetadataColumns.isMetadataColumn(column.name().toLowerCase(Locale.ROOT))) {
        throw new IllegalArgumentException(
            ("Cannot rewrite data files of %s, because its column %s has the name of a metadata column of Iceberg, which Spark reads"
                    + " in its place: rename it")
                .formatted(table.name(), column.name()));
      }
    }
  }

  private static String branchToRewrite(CatalogTable target, RewriteSpec spec) {
    String branch = branch(target, spec.branch(), "rewrite");
    if (!branch.equals(SnapshotRef.MAIN_BRANCH) && !SupportedVersions.commitsToBranches()) {
      throw new IllegalArgumentException(
          "Cannot rewrite data files for branch %s of %s, because Iceberg %s commits rewrites to %s only"
              .formatted(branch, target.name(), IcebergBuild.version(), SnapshotRef.MAIN_BRANCH));
    }
    return branch;
  }

  /** The data files of a snapshot that the filter selects, with the bounds of the columns that rows are ordered by. Reads manifests. */
  public FileBounds bounds(Table table, long snapshotId) {
    List<String> names = order.named().stream().map(column -> String.join(".", column.parts())).toList();
    Consumer<Consumer<DataFile>> forEach =
        visitor -> scope.forEachWithBounds(table, snapshotId, names, task -> visitor.accept(task.file()));
    return new FileBounds(order.named(), table, forEach);
  }

  /** The key of this spec for new files of a size. */
  public String key(Table table, long targetFileSizeBytes) {
    String key =
        RequestKey.of(
            order.sortOrder(),
            written.where() == null ? "" : written.where(),
            table.schema().schemaId(),
            outputSpec(table, options).specId(),
            targetFileSizeBytes,
            workload.map(each -> each.keyed(options.all())).orElse(options.all()),
            table.properties());
    return workload.map(each -> key + " " + each.key()).orElse(key);
  }

  public static PartitionSpec outputSpec(Table table, RewriteOptions options) {
    String specId = options.all().get(RewriteDataFiles.OUTPUT_SPEC_ID);
    PartitionSpec spec = specId == null ? table.spec() : table.specs().get(Integer.parseInt(specId));
    if (spec == null) {
      throw new IllegalArgumentException(
          "Cannot use output spec id %s, because the table does not contain a reference to this spec-id."
              .formatted(specId));
    }
    return spec;
  }

  private static SortOrder sortOrder(CatalogTable target, RewriteSpec spec) {
    if (spec.sortOrder() == null) {
      throw new IllegalArgumentException(
          ("Cannot rewrite data files of %s, because no columns are named and it has no property %s: name columns, for example"
                  + " 'zorder(a, b)'; iceberg-zorder advise recommends some")
              .formatted(target.name(), TableDefaults.COLUMNS));
    }
    return SortOrder.parse(spec.sortOrder());
  }

  /** The branch of the argument, else of the table's name, else main. */
  static String branch(CatalogTable target, String argument, String act) {
    Table table = target.table();
    String branch = argument != null ? argument : target.branch() != null ? target.branch() : SnapshotRef.MAIN_BRANCH;
    SnapshotRef ref = table.refs().get(branch);
    // Branch main appears with its first snapshot.
    if (ref == null ? !branch.equals(SnapshotRef.MAIN_BRANCH) : !ref.isBranch()) {
      throw new IllegalArgumentException(
          "Cannot %s data files for branch %s, because %s has no such branch: branch does not exist"
              .formatted(act, branch, table.name()));
    }
    return branch;
  }

  /** The condition of a text; without one it is always true. */
  static Expression filter(CatalogTable target, String where) {
    if (where == null) {
      return Expressions.alwaysTrue();
    }
    try {
      return SparkInternals.icebergExpression(target.session(), target.quotedName(), where);
    } catch (AnalysisException | RuntimeException e) {
      // Spark's optimizer evaluates parts of it, and fails in many ways.
      throw new IllegalArgumentException(
          "Cannot use the filter '%s' on %s, because %s"
              .formatted(where, target.name(), Failures.rootMessage(e).strip()),
          e);
    } catch (StackOverflowError e) {
      // A table may remember such a one, of which a report warns.
      throw new IllegalArgumentException(
          "Cannot use the filter '%s' on %s, because it is nested too deeply".formatted(where, target.name()), e);
    }
  }

  public static List<Condition> conditions(CatalogTable target, List<String> texts) {
    if (texts.stream().anyMatch(Objects::isNull)) {
      throw new IllegalArgumentException("Cannot measure a predicate on %s, because it is NULL".formatted(target.name()));
    }
    return texts.stream().map(text -> new Condition(text, filter(target, text))).toList();
  }
}
