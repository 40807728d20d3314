package io.icebergzorder.spark.procedure;

import io.icebergzorder.core.Printable;
import io.icebergzorder.core.report.ClusteringReport;
import io.icebergzorder.core.report.ClusteringReport.ColumnReport;
import io.icebergzorder.core.report.ClusteringReport.Finding;
import io.icebergzorder.core.report.ClusteringReport.SizeReport;
import io.icebergzorder.spark.report.TableReport;
import io.icebergzorder.spark.request.CatalogTable;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** {@code zorder_report}: how well a table is clustered, as figures and codes of findings. It reads metadata only. */
final class ZOrderReportProcedure implements AddedProcedure {
  private static final DataType FRACTIONS = DataTypes.createMapType(DataTypes.StringType, DataTypes.DoubleType, false);

  private static final StructType OUTPUT =
      new StructType()
          .add("total_file_count", DataTypes.IntegerType, false)
          .add("total_bytes", DataTypes.LongType, false)
          .add("total_rows", DataTypes.LongType, false)
          .add("scan_fractions", FRACTIONS, false)
          .add("attainable", FRACTIONS, false)
          .add("target_file_size_bytes", DataTypes.LongType, false)
          .add("smallest_bytes", DataTypes.LongType, false)
          .add("median_bytes", DataTypes.LongType, false)
          .add("largest_bytes", DataTypes.LongType, false)
          .add("badly_sized_files", DataTypes.IntegerType, false)
          .add("files_after_rewrite", DataTypes.IntegerType, false)
          .add("findings", DataTypes.StringType, false);

  @Override
  public String name() {
    return "zorder_report";
  }

  @Override
  public String description() {
    return "How well a table is clustered, what a rewrite would attain, and what is wrong";
  }

  @Override
  public List<CallArguments.Parameter> parameters() {
    return List.of(
        new CallArguments.Parameter("table", DataTypes.StringType, true),
        new CallArguments.Parameter("columns", DataTypes.StringType, false),
        new CallArguments.Parameter("where", DataTypes.StringType, false),
        new CallArguments.Parameter("branch", DataTypes.StringType, false));
  }

  @Override
  public StructType output() {
    return OUTPUT;
  }

  @Override
  public List<Object[]> call(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    CatalogTable table = CatalogTable.load(session, catalog, arguments.text("table"), "report on");
    ClusteringReport report =
        TableReport.of(table, arguments.text("columns"), arguments.text("where"), arguments.text("branch"));
    SizeReport sizes = report.fileSizes();
    Object[] row = {
      report.totalFileCount(),
      report.totalBytes(),
      report.totalRows(),
      byColumn(report, ColumnReport::scanFraction),
      byColumn(report, ColumnReport::attainable),
      sizes.target(),
      sizes.smallest(),
      sizes.median(),
      sizes.largest(),
      sizes.badlySized(),
      sizes.afterRewrite(),
      UTF8String.fromString(report.findings().stream().map(ZOrderReportProcedure::text).collect(Collectors.joining("\n")))
    };
    return List.<Object[]>of(row);
  }

  private static String text(Finding finding) {
    String about = finding.about().isEmpty() ? "" : ": " + Printable.of(finding.about());
    return finding.severity() + " " + finding.code() + about;
  }

  private static ArrayBasedMapData byColumn(ClusteringReport report, Function<ColumnReport, Double> figure) {
    List<ColumnReport> known = report.columns().stream().filter(column -> figure.apply(column) != null).toList();
    Object[] names = known.stream().map(column -> UTF8String.fromString(column.name())).toArray();
    Object[] figures = known.stream().map(figure).toArray();
    return new ArrayBasedMapData(new GenericArrayData(names), new GenericArrayData(figures));
  }
}
