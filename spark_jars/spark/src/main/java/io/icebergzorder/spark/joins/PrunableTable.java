package io.icebergzorder.spark.joins;

import java.util.Map;
import java.util.Set;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Iceberg's table for reading, with scans that take the keys of joins. All else is Iceberg's. */
record PrunableTable(SparkTable iceberg) implements SupportsRead, SupportsMetadataColumns {
  /** Whether a table's metadata can be watched: not so of metadata tables. */
  static boolean serves(SparkTable table) {
    return table.table() instanceof HasTableOperations && !(table.table() instanceof BaseMetadataTable);
  }

  Table table() {
    return iceberg.table();
  }

  /** The metadata that a scan made now would read. */
  TableMetadata metadata() {
    return ((HasTableOperations) iceberg.table()).operations().current();
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return PrunableScanBuilder.around(this, options);
  }

  @Override
  public String name() {
    return iceberg.name();
  }

  @Override
  @SuppressWarnings("deprecation") // Spark still asks for it
  public StructType schema() {
    return iceberg.schema();
  }

  @Override
  public Column[] columns() {
    return iceberg.columns();
  }

  @Override
  public Transform[] partitioning() {
    return iceberg.partitioning();
  }

  @Override
  public Map<String, String> properties() {
    return iceberg.properties();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return iceberg.capabilities();
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return iceberg.metadataColumns();
  }

  @Override
  public String toString() {
    return iceberg.toString();
  }
}
