package io.icebergzorder.spark.report;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.report.ClusteringReport;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.report.LayoutHistory;
import io.icebergzorder.core.report.SnapshotFacts;
import io.icebergzorder.core.report.TableFacts;
import io.icebergzorder.core.report.WorkloadRead;
import io.icebergzorder.spark.measure.PredictedFiles;
import io.icebergzorder.spark.plan.AddedBy;
import io.icebergzorder.spark.plan.FileSizeRules;
import io.icebergzorder.spark.queries.Condition;
import io.icebergzorder.spark.queries.FileCondition;
import io.icebergzorder.spark.queries.FilePartition;
import io.icebergzorder.spark.request.CatalogTable;
import io.icebergzorder.spark.request.ReportRequest;
import io.icebergzorder.spark.request.ResolvedReport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;

/** Reports how well a table is clustered, from its metadata alone. */
public final class TableReport {
  private final ResolvedReport request;
  private final Table table;
  private final List<Types.NestedField> fields;
  private final List<FileCondition> conditions;

  private TableReport(ResolvedReport request) {
    this.request = request;
    this.table = request.target().table();
    this.fields =
        request.order().named().stream()
            .map(column -> table.schema().findField(String.join(".", column.parts())))
            .toList();
    boolean caseSensitive = request.target().isCaseSensitive();
    this.conditions =
        Stream.concat(
                request.predicates().stream(), request.workload().stream().flatMap(each -> each.conditions().stream()))
            .map(condition -> new FileCondition(table, condition, caseSensitive))
            .toList();
  }

  /**
   * Reports on a table. Manifests are read, and no data.
   *
   * @throws IllegalArgumentException if the request cannot be honoured
   */
  public static ClusteringReport of(CatalogTable target, ReportRequest request) {
    TableReport report = new TableReport(ResolvedReport.of(target, request));
    ListedFiles.Ordered listed = report.listed().ordered();
    TableFacts facts = report.facts(listed);
    ClusteringReport found = ClusteringReport.of(facts, request.boxes());
    return report.workloadRead(listed, facts.files().sizes()).map(found::with).orElse(found);
  }

  private static long[] bytesByPartition(DataFiles files) {
    long[] bytes = new long[1 + Arrays.stream(files.partitions()).max().orElse(-1)];
    for (int file = 0; file < files.count(); file++) {
      bytes[files.partitions()[file]] += files.sizes()[file];
    }
    return bytes;
  }

  private Long snapshotId() {
    List<SnapshotFacts> snapshots = request.snapshots();
    return snapshots.isEmpty() ? null : (Long) snapshots.get(snapshots.size() - 1).id();
  }

  private TableFacts facts(ListedFiles.Ordered listed) {
    Long snapshotId = snapshotId();
    DataFiles files = listed.files();
    FileSizeRules sizes =
        FileSizeRules.of(table, request.options(), snapshotId, bytesByPartition(files), request.where() != null);
    MetricsConfig metrics = MetricsConfig.forTable(table);
    String branch = request.branch().equals(SnapshotRef.MAIN_BRANCH) ? null : request.branch();
    RewriteCall rewrite = new RewriteCall(request.target().parts(), request.sortOrder(), request.where(), branch);
    return new TableFacts(
        table.name(),
        ClusteringColumn.quoted(request.target().parts()),
        request.branch(),
        snapshotId,
        request.where(),
        request.sortOrder(),
        files,
        listed.partitions().stream().map(this::name).toList(),
        fields.stream().map(each -> metrics.columnMode(table.schema().findColumnName(each.fieldId())).toString()).toList(),
        new TableFacts.FileSizes(sizes.target(), sizes.least(), sizes.most(), sizes.minInputFiles(), sizes.expectedFiles()),
        request.order().layoutRequest(request.options().layout(), 1),
        listed.ofOldSpecs(),
        listed.withDeletes(),
        listed.positionDeleteFiles(),
        listed.equalityDeleteFiles(),
        LayoutHistory.of(request.snapshots(), listed.addedBy(), files, request::isSame),
        rewrite::with,
        predicates(listed));
  }

  private List<TableFacts.PredicateFacts> predicates(ListedFiles.Ordered listed) {
    PredictedFiles predicted = new PredictedFiles(fields, listed.partitions());
    List<TableFacts.PredicateFacts> predicates = new ArrayList<>();
    for (int i = 0; i < request.predicates().size(); i++) {
      FileCondition condition = conditions.get(i);
      predicates.add(
          new TableFacts.PredicateFacts(
              request.predicates().get(i).text(), listed.read(i), files -> predicted.mayMatch(condition, files)));
    }
    return predicates;
  }

  /** What the queries of the workload read; their conditions come after the predicates. */
  private Optional<WorkloadRead> workloadRead(ListedFiles.Ordered listed, long[] sizes) {
    int first = request.predicates().size();
    return request
        .workload()
        .map(
            each ->
                WorkloadRead.of(
                    each.conditions().stream().map(Condition::text).toList(),
                    each.weights(),
                    query -> listed.read(first + query),
                    sizes));
  }

  /** A partition's name, as its directory is named; of another spec than the current one with that. */
  private String name(FilePartition partition) {
    String path = partition.spec().partitionToPath(partition.values());
    int spec = partition.spec().specId();
    if (spec == table.spec().specId()) {
      return path;
    }
    return "spec " + spec + (path.isEmpty() ? "" : ": " + path);
  }

  /** Lists the files, each of which is forgotten when its numbers are taken. */
  private ListedFiles listed() {
    Long snapshotId = snapshotId();
    ListedFiles listed =
        new ListedFiles(table, request.order().named(), fields, conditions, new AddedBy(table, request.snapshots()));
    if (snapshotId == null) {
      return listed;
    }
    TableScan scan =
        table
            .newScan()
            .useSnapshot(snapshotId)
            .caseSensitive(request.target().isCaseSensitive())
            .ignoreResiduals();
    try (CloseableIterable<FileScanTask> found = filtered(scan)) {
      found.forEach(listed::add);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return listed;
  }

  /** The files that the filter leaves. A scan knows columns by the names that they had in its snapshot, and a filter by today's. */
  private CloseableIterable<FileScanTask> filtered(TableScan scan) {
    if (scan.schema().sameSchema(table.schema())) {
      return scan.filter(request.filter()).includeColumnStats(judgedColumns(scan.schema(), conditions)).planFiles();
    }
    FileCondition filter =
        new FileCondition(table, new Condition(request.where(), request.filter()), request.target().isCaseSensitive());
    List<FileCondition> judging = new ArrayList<>(conditions);
    judging.add(filter);
    return CloseableIterable.filter(
        scan.includeColumnStats(judgedColumns(scan.schema(), judging)).planFiles(), task -> filter.mayMatch(task.file()));
  }

  /** The columns whose bounds are looked at, by the names that they have in a scan. */
  private List<String> judgedColumns(Schema schema, List<FileCondition> judging) {
    Set<Integer> ids = new LinkedHashSet<>();
    fields.forEach(field -> ids.add(field.fieldId()));
    judging.forEach(condition -> ids.addAll(condition.fieldIds()));
    return ids.stream().map(schema::findColumnName).filter(Objects::nonNull).toList();
  }
}
