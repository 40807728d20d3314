package io.icebergzorder.spark.procedure;

import io.icebergzorder.core.Printable;
import io.icebergzorder.core.report.ClusteringReport;
import io.icebergzorder.core.report.ClusteringReport.ColumnReport;
import io.icebergzorder.core.report.ClusteringReport.PartitionReport;
import io.icebergzorder.spark.report.TableReport;
import io.icebergzorder.spark.request.CatalogTable;
import io.icebergzorder.spark.request.ReportRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code zorder_report}: how well a table is clustered. The first row is of the table, with the whole report; the others are of the
 * partitions where a rewrite saves the most, at most 1,000. It reads metadata only.
 */
final class ZOrderReportProcedure implements AddedProcedure {
  /** Of a table with more partitions the JSON has the rest. */
  private static final int MOST_PARTITIONS = 1_000;

  private static final DataType FRACTIONS = DataTypes.createMapType(DataTypes.StringType, DataTypes.DoubleType, false);

  private static final StructType OUTPUT =
      new StructType()
          .add("scope", DataTypes.StringType, false)
          .add("partition", DataTypes.StringType, true)
          .add("total_file_count", DataTypes.IntegerType, false)
          .add("total_constant_file_count", DataTypes.IntegerType, false)
          .add("total_bytes", DataTypes.LongType, false)
          .add("total_rows", DataTypes.LongType, false)
          .add("average_overlaps", DataTypes.DoubleType, true)
          .add("average_depth", DataTypes.DoubleType, true)
          .add("scan_fractions", FRACTIONS, false)
          .add("attainable", FRACTIONS, false)
          .add("findings", DataTypes.StringType, true)
          .add("report", DataTypes.StringType, true);

  @Override
  public String name() {
    return "zorder_report";
  }

  @Override
  public String description() {
    return "How well a table is clustered, what a rewrite would attain, and what is wrong; at most 1,000 partitions, worst first";
  }

  @Override
  public List<CallArguments.Parameter> parameters() {
    return List.of(
        new CallArguments.Parameter("table", DataTypes.StringType, true),
        new CallArguments.Parameter("columns", DataTypes.StringType, false),
        new CallArguments.Parameter("where", DataTypes.StringType, false),
        new CallArguments.Parameter("branch", DataTypes.StringType, false),
        new CallArguments.Parameter("predicates", DataTypes.createArrayType(DataTypes.StringType), false),
        new CallArguments.Parameter("snapshot_id", DataTypes.LongType, false),
        new CallArguments.Parameter("boxes", DataTypes.BooleanType, false),
        new CallArguments.Parameter("workload", DataTypes.StringType, false));
  }

  @Override
  public StructType output() {
    return OUTPUT;
  }

  @Override
  public List<Object[]> call(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    ReportRequest request =
        new ReportRequest(
            arguments.text("table"),
            arguments.text("columns"),
            arguments.text("where"),
            arguments.text("branch"),
            arguments.number("snapshot_id"),
            arguments.list("predicates"),
            arguments.text("workload"),
            arguments.flag("boxes"));
    CatalogTable table = CatalogTable.load(session, catalog, request.table(), "report on");
    ClusteringReport report = TableReport.of(table, request);
    List<Object[]> rows = new ArrayList<>();
    rows.add(row(report));
    report.partitions().stream().limit(MOST_PARTITIONS).map(ZOrderReportProcedure::row).forEach(rows::add);
    return rows;
  }

  private static Object[] row(ClusteringReport report) {
    String findings =
        report.findings().stream()
            .flatMap(
                each ->
                    Stream.concat(
                        Stream.of(each.severity() + " " + each.code() + ": " + each.message()),
                        Stream.ofNullable(each.command()).map(command -> "  " + command)))
            .map(Printable::of)
            .collect(Collectors.joining("\n"));
    return new Object[] {
      UTF8String.fromString("table"),
      null,
      report.totalFileCount(),
      report.totalConstantFileCount(),
      report.totalBytes(),
      report.totalRows(),
      report.averageOverlaps(),
      report.averageDepth(),
      map(byColumn(report, ColumnReport::scanFraction)),
      map(byColumn(report, ColumnReport::attainable)),
      UTF8String.fromString(findings),
      UTF8String.fromString(report.toJson())
    };
  }

  private static Object[] row(PartitionReport partition) {
    return new Object[] {
      UTF8String.fromString("partition"),
      UTF8String.fromString(partition.partition()),
      partition.totalFileCount(),
      partition.totalConstantFileCount(),
      partition.bytes(),
      partition.rows(),
      partition.averageOverlaps(),
      partition.averageDepth(),
      map(partition.scanFractions()),
      map(partition.attainable()),
      null,
      null
    };
  }

  private static Map<String, Double> byColumn(ClusteringReport report, Function<ColumnReport, Double> figure) {
    Map<String, Double> figures = new LinkedHashMap<>();
    for (ColumnReport column : report.columns()) {
      if (figure.apply(column) != null) {
        figures.put(column.name(), figure.apply(column));
      }
    }
    return figures;
  }

  private static ArrayBasedMapData map(Map<String, Double> figures) {
    Object[] names = figures.keySet().stream().map(UTF8String::fromString).toArray();
    return new ArrayBasedMapData(new GenericArrayData(names), new GenericArrayData(figures.values().toArray()));
  }
}
