package io.icebergzorder.spark41;

import io.icebergzorder.spark.SparkLine;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.spark.source.SparkRewriteTable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import scala.jdk.javaapi.CollectionConverters;

/** Spark 4.1, where sessions and data frames have a classic form behind the one shared with Spark Connect. */
final class Spark41Line implements SparkLine {
  static final SparkLine INSTANCE = new Spark41Line();

  private Spark41Line() {}

  @Override
  public String version() {
    return "4.1";
  }

  @Override
  public List<String> icebergVersions() {
    return List.of("1.12");
  }

  @Override
  public SparkSession cloneSession(SparkSession session) {
    return classic(session).cloneSession();
  }

  @Override
  public List<String> parseName(SparkSession session, String name) throws AnalysisException {
    return CollectionConverters.asJava(session.sessionState().sqlParser().parseMultipartIdentifier(name));
  }

  @Override
  public boolean isCatalog(SparkSession session, String name) {
    return session.sessionState().catalogManager().isCatalogRegistered(name);
  }

  @Override
  public Expression icebergExpression(SparkSession session, String quotedTable, String where)
      throws AnalysisException {
    return SparkExpressionConverter.convertToIcebergExpression(
        SparkExpressionConverter.collectResolvedSparkExpression(classic(session), quotedTable, where));
  }

  /**
   * Adds the two attributes by hand: of a table with row lineage Spark offers no metadata column but the lineage, because
   * Iceberg's staged tables have that among their columns.
   */
  @Override
  public Dataset<Row> withFileAndPosition(Dataset<Row> staged) {
    org.apache.spark.sql.classic.Dataset<Row> dataset = (org.apache.spark.sql.classic.Dataset<Row>) staged;
    DataSourceV2Relation relation = (DataSourceV2Relation) dataset.queryExecution().analyzed();
    List<AttributeReference> columns = new ArrayList<>(CollectionConverters.asJava(relation.output()));
    columns.add(attribute(MetadataColumns.FILE_PATH.name(), DataTypes.StringType));
    columns.add(attribute(MetadataColumns.ROW_POSITION.name(), DataTypes.LongType));
    LogicalPlan extended =
        relation.copy(
            relation.table(),
            CollectionConverters.asScala(columns).toList(),
            relation.catalog(),
            relation.identifier(),
            relation.options(),
            relation.timeTravelSpec());
    return org.apache.spark.sql.classic.Dataset.ofRows(dataset.sparkSession(), extended);
  }

  private static AttributeReference attribute(String name, DataType type) {
    return new AttributeReference(
        name, type, false, Metadata.empty(), NamedExpression.newExprId(), CollectionConverters.asScala(List.<String>of()).toList());
  }

  @Override
  public org.apache.spark.sql.connector.catalog.Table stagedTable(Table table, String id) {
    return new SparkRewriteTable(table, id);
  }

  @Override
  public List<Scan> scans(Dataset<Row> dataset) {
    SparkPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) dataset).queryExecution().sparkPlan();
    List<Scan> scans = new ArrayList<>();
    for (SparkPlan leaf : CollectionConverters.asJava(plan.collectLeaves())) {
      scans.add(leaf instanceof BatchScanExec scan ? scan.scan() : null);
    }
    return scans;
  }

  private static org.apache.spark.sql.classic.SparkSession classic(SparkSession session) {
    return (org.apache.spark.sql.classic.SparkSession) session;
  }
}
