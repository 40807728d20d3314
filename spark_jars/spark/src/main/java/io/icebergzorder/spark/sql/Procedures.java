package io.icebergzorder.spark.sql;

import io.icebergzorder.core.Printable;
import io.icebergzorder.core.metrics.ClusteringReport;
import io.icebergzorder.core.metrics.ClusteringReport.ColumnReport;
import io.icebergzorder.core.metrics.ClusteringReport.SizeReport;
import io.icebergzorder.core.metrics.ScanMeasurement.FilterRead;
import io.icebergzorder.spark.api.LeftFiles;
import io.icebergzorder.spark.api.PlannedFileGroup;
import io.icebergzorder.spark.api.RewritePlan;
import io.icebergzorder.spark.api.ZOrderResult;
import io.icebergzorder.spark.metrics.TableReport;
import io.icebergzorder.spark.spec.CatalogTable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.spark.source.HasIcebergCatalog;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** The procedures that the plugin adds. How a CALL arrives differs between Spark lines; they share this class. */
public final class Procedures {
  private static final String NAMESPACE = "system";

  public static final List<AddedProcedure> ADDED =
      List.of(
          new AddedProcedure(
              "zorder_metadata",
              "`table` STRING NOT NULL, snapshot_id BIGINT",
              "location STRING NOT NULL, content BINARY NOT NULL"),
          new AddedProcedure(
              "zorder_plan",
              RewriteDataFilesProcedure.REQUEST + ", sampled BOOLEAN, predicates ARRAY<STRING>",
              "data_files_count INT NOT NULL, selected_data_files_count INT NOT NULL, file_groups_count INT NOT NULL,"
                  + " expected_data_files_count INT NOT NULL, reason STRING, plan STRING NOT NULL"),
          new AddedProcedure(
              "zorder_report",
              "`table` STRING NOT NULL, columns STRING, `where` STRING, branch STRING",
              "total_file_count INT NOT NULL, total_bytes BIGINT NOT NULL, total_rows BIGINT NOT NULL,"
                  + " scan_fractions MAP<STRING, DOUBLE> NOT NULL, attainable MAP<STRING, DOUBLE> NOT NULL,"
                  + " average_file_count MAP<STRING, DOUBLE> NOT NULL, cost DOUBLE, attainable_cost DOUBLE,"
                  + " target_file_size_bytes BIGINT NOT NULL, smallest_bytes BIGINT NOT NULL, median_bytes BIGINT NOT NULL,"
                  + " largest_bytes BIGINT NOT NULL, files_after_rewrite INT NOT NULL,"
                  + " planned_files INT NOT NULL, planned_because STRING NOT NULL, findings STRING NOT NULL"),
          new AddedProcedure(
              "zorder_rewrite",
              RewriteDataFilesProcedure.REQUEST + ", plan STRING",
              RewriteDataFilesProcedure.COUNTS + ", message STRING, result STRING NOT NULL"));

  private Procedures() {}

  /** A procedure that Iceberg does not have: parameters that may be left out are nullable. */
  public record AddedProcedure(String name, StructType parameters, StructType output) {
    AddedProcedure(String name, String parameters, String output) {
      this(name, StructType.fromDDL(parameters), StructType.fromDDL(output));
    }
  }

  /** Calls an added procedure in a catalog; returns rows of its output, as Spark holds values inside. */
  public static List<Object[]> call(AddedProcedure procedure, TableCatalog catalog, InternalRow input) {
    SparkSession session = SparkSession.active();
    CallArguments arguments = new CallArguments(procedure.parameters(), input);
    return switch (procedure.name()) {
      case "zorder_metadata" -> metadata(session, catalog, arguments);
      case "zorder_plan" -> plan(session, catalog, arguments);
      case "zorder_report" -> report(session, catalog, arguments);
      default -> rewrite(session, catalog, arguments);
    };
  }

  /** A procedure, as a CALL names it in an Iceberg catalog: one that is added, or null for Iceberg's {@code rewrite_data_files}. */
  public record NamedProcedure(CatalogPlugin catalog, Identifier identifier, AddedProcedure added) {
    public TableCatalog tables() {
      return (TableCatalog) catalog;
    }
  }

  /** What a CALL calls; null if it is none of these. A catalog is looked up only for the name of one of them. */
  public static NamedProcedure find(SparkSession session, List<String> nameParts) {
    String name = nameParts.get(nameParts.size() - 1).toLowerCase(Locale.ROOT);
    AddedProcedure added = ADDED.stream().filter(each -> each.name().equals(name)).findFirst().orElse(null);
    if (added == null && !name.equals(RewriteDataFilesProcedure.NAME)) {
      return null;
    }
    CatalogManager manager = session.sessionState().catalogManager();
    boolean named = nameParts.size() == 3 && manager.isCatalogRegistered(nameParts.get(0));
    List<String> inCatalog = named ? nameParts.subList(1, 3) : nameParts;
    if (inCatalog.size() != 2 || !inCatalog.get(0).equalsIgnoreCase(NAMESPACE)) {
      return null;
    }
    CatalogPlugin catalog = named ? manager.catalog(nameParts.get(0)) : manager.currentCatalog();
    if (!(catalog instanceof HasIcebergCatalog && catalog instanceof TableCatalog)) {
      return null;
    }
    return new NamedProcedure(catalog, Identifier.of(new String[] {inCatalog.get(0)}, inCatalog.get(1)), added);
  }

  /** A table's newest metadata file, or of a snapshot the manifest list and the manifests, which Python's report measures. */
  private static List<Object[]> metadata(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    String name = arguments.text("table");
    CatalogTable loaded = CatalogTable.load(session, catalog, name, "report on");
    if (loaded.branch() != null) {
      throw new IllegalArgumentException(
          "Cannot report on %s, because its name holds a branch: name the branch by argument branch".formatted(name.replace("`", "")));
    }
    Table table = loaded.table();
    // A caching catalog hands out tables as they were when they were first loaded.
    table.refresh();
    Long snapshotId = arguments.number("snapshot_id");
    if (snapshotId == null) {
      TableMetadata metadata = ((HasTableOperations) table).operations().current();
      byte[] json = TableMetadataParser.toJson(metadata).getBytes(StandardCharsets.UTF_8);
      return List.<Object[]>of(new Object[] {text(metadata.metadataFileLocation()), json});
    }
    Snapshot snapshot = table.snapshot(snapshotId);
    if (snapshot == null) {
      throw new IllegalArgumentException(
          "Cannot report on snapshot %s, because %s has no such snapshot".formatted(snapshotId, table.name()));
    }
    List<Object[]> rows = new ArrayList<>();
    rows.add(content(table.io().newInputFile(snapshot.manifestListLocation())));
    for (ManifestFile manifest : snapshot.allManifests(table.io())) {
      rows.add(content(table.io().newInputFile(manifest)));
    }
    return rows;
  }

  private static Object[] content(InputFile file) {
    try (SeekableInputStream stream = file.newStream()) {
      return new Object[] {text(file.location()), stream.readAllBytes()};
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + file.location(), e);
    }
  }

  /** What a rewrite would do with the same arguments; it reads metadata only, unless it is to sample. */
  private static List<Object[]> plan(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    boolean isSampled = arguments.flag("sampled");
    List<String> predicates = arguments.list("predicates");
    if (!isSampled && !predicates.isEmpty()) {
      throw new IllegalArgumentException("Cannot use predicates, because they need argument sampled");
    }
    RewritePlan planned = RewriteDataFilesProcedure.request(session, catalog, arguments).plan();
    RewritePlan plan = isSampled ? planned.sampled(predicates) : planned;
    List<PlannedFileGroup> groups = plan.groups();
    int selected = groups.stream().mapToInt(group -> group.files().size()).sum();
    int left = plan.left().stream().mapToInt(LeftFiles::files).sum();
    int expected = groups.stream().mapToInt(PlannedFileGroup::expectedFiles).sum();
    Object[] row = {
      selected + left, selected, groups.size(), expected, text(plan.message().orElse(null)), text(plan.toString())
    };
    return List.<Object[]>of(row);
  }

  private static List<Object[]> report(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    CatalogTable table = CatalogTable.load(session, catalog, arguments.text("table"), "report on");
    ClusteringReport report = TableReport.of(table, arguments.text("columns"), arguments.text("where"), arguments.text("branch"));
    SizeReport sizes = report.fileSizes();
    String findings =
        report.findings().stream()
            .map(each -> each.severity() + " " + each.code() + (each.about().isEmpty() ? "" : ": " + Printable.of(each.about())))
            .collect(Collectors.joining("\n"));
    Object[] row = {
      report.totalFileCount(),
      report.totalBytes(),
      report.totalRows(),
      byColumn(report, ColumnReport::read, FilterRead::fraction),
      byColumn(report, ColumnReport::attainable, FilterRead::fraction),
      byColumn(report, ColumnReport::read, FilterRead::files),
      report.cost(),
      report.attainableCost(),
      sizes.target(),
      sizes.smallest(),
      sizes.median(),
      sizes.largest(),
      sizes.afterRewrite(),
      report.recommendation().files(),
      text(Printable.of(report.recommendation().reason())),
      text(findings)
    };
    return List.<Object[]>of(row);
  }

  private static ArrayBasedMapData byColumn(
      ClusteringReport report, Function<ColumnReport, FilterRead> read, Function<FilterRead, Double> figure) {
    List<ColumnReport> known = report.columns().stream().filter(column -> read.apply(column) != null).toList();
    Object[] names = known.stream().map(column -> text(column.name())).toArray();
    Object[] figures = known.stream().map(read.andThen(figure)).toArray();
    return new ArrayBasedMapData(new GenericArrayData(names), new GenericArrayData(figures));
  }

  /** A rewrite, with a message and all figures, for which the columns of Iceberg's procedure have no room. */
  private static List<Object[]> rewrite(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    String plan = arguments.text("plan");
    ZOrderResult result =
        plan == null
            ? RewriteDataFilesProcedure.request(session, catalog, arguments).execute()
            : planned(session, catalog, arguments, plan).execute();
    List<Object> row = new ArrayList<>(Arrays.asList(RewriteDataFilesProcedure.counts(result)));
    row.add(text(result.message().orElse(null)));
    row.add(text(result.toJson()));
    return List.<Object[]>of(row.toArray());
  }

  private static RewritePlan planned(SparkSession session, TableCatalog catalog, CallArguments arguments, String plan) {
    List<String> others = Stream.of("sort_order", "options", "where", "branch").filter(each -> arguments.value(each) != null).toList();
    if (!others.isEmpty()) {
      throw new IllegalArgumentException("Cannot use %s beside plan, because the plan already has it".formatted(others.get(0)));
    }
    return RewritePlan.fromJson(session, catalog, arguments.text("table"), plan);
  }

  private static UTF8String text(String value) {
    return UTF8String.fromString(value);
  }
}
