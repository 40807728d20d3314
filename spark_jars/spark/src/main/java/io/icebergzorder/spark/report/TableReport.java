package io.icebergzorder.spark.report;

import io.icebergzorder.core.report.ClusteringReport;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.report.LayoutHistory;
import io.icebergzorder.core.report.SnapshotFacts;
import io.icebergzorder.core.report.TableFacts;
import io.icebergzorder.spark.plan.AddedBy;
import io.icebergzorder.spark.plan.FileSizeRules;
import io.icebergzorder.spark.request.CatalogTable;
import io.icebergzorder.spark.request.ReportRequest;
import io.icebergzorder.spark.request.ResolvedReport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;

/** Reports how well a table is clustered, from its metadata alone. */
public final class TableReport {
  private final ResolvedReport request;
  private final Table table;
  private final List<Types.NestedField> fields;

  private TableReport(ResolvedReport request) {
    this.request = request;
    this.table = request.target().table();
    this.fields =
        request.order().named().stream()
            .map(column -> table.schema().findField(String.join(".", column.parts())))
            .toList();
  }

  /**
   * Reports on a table. Manifests are read, and no data.
   *
   * @throws IllegalArgumentException if the request cannot be honoured
   */
  public static ClusteringReport of(CatalogTable target, ReportRequest request) {
    return ClusteringReport.of(new TableReport(ResolvedReport.of(target, request)).facts());
  }

  private TableFacts facts() {
    ListedFiles.Ordered listed = listed().ordered();
    List<SnapshotFacts> snapshots = request.snapshots();
    Long snapshotId = snapshots.isEmpty() ? null : (Long) snapshots.get(snapshots.size() - 1).id();
    DataFiles files = listed.files();
    long[] bytes = new long[1 + Arrays.stream(files.partitions()).max().orElse(-1)];
    for (int file = 0; file < files.count(); file++) {
      bytes[files.partitions()[file]] += files.sizes()[file];
    }
    FileSizeRules sizes = FileSizeRules.of(table, request.options(), snapshotId, bytes, request.where() != null);
    MetricsConfig metrics = MetricsConfig.forTable(table);
    return new TableFacts(
        files,
        fields.stream().map(each -> metrics.columnMode(table.schema().findColumnName(each.fieldId())).toString()).toList(),
        new TableFacts.FileSizes(sizes.target(), sizes.least(), sizes.most(), sizes.minInputFiles(), sizes.expectedFiles()),
        request.order().layoutRequest(request.options().layout(), 1),
        listed.ofOldSpecs(),
        listed.withDeletes(),
        LayoutHistory.of(snapshots, listed.addedBy(), files, request::isSame));
  }

  /** Lists the files, each of which is forgotten when its numbers are taken. */
  private ListedFiles listed() {
    ListedFiles listed =
        new ListedFiles(table, request.order().named(), fields, new AddedBy(table, request.snapshots()));
    if (request.snapshots().isEmpty()) {
      return listed;
    }
    List<String> names = fields.stream().map(field -> table.schema().findColumnName(field.fieldId())).toList();
    try (CloseableIterable<FileScanTask> found =
        table
            .newScan()
            .useRef(request.branch())
            .caseSensitive(request.target().isCaseSensitive())
            .ignoreResiduals()
            .filter(request.filter())
            .includeColumnStats(names)
            .planFiles()) {
      found.forEach(listed::add);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return listed;
  }
}
