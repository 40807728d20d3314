package io.icebergzorder.spark.procedure;

import io.icebergzorder.spark.request.CatalogTable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code zorder_metadata}: a table's newest metadata file, or of a snapshot the manifest list and the manifests.
 * Python's report measures them; it reaches them so where only Spark has the catalog and its credentials, and over
 * Spark Connect.
 */
final class ZOrderMetadataProcedure implements AddedProcedure {
  private static final StructType OUTPUT =
      new StructType().add("location", DataTypes.StringType, false).add("content", DataTypes.BinaryType, false);

  @Override
  public String name() {
    return "zorder_metadata";
  }

  @Override
  public String description() {
    return "A table's metadata file, or the manifests of one of its snapshots, for iceberg_zorder.spark.report";
  }

  @Override
  public List<CallArguments.Parameter> parameters() {
    return List.of(
        new CallArguments.Parameter("table", DataTypes.StringType, true),
        new CallArguments.Parameter("snapshot_id", DataTypes.LongType, false));
  }

  @Override
  public StructType output() {
    return OUTPUT;
  }

  @Override
  public List<Object[]> call(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    String name = arguments.text("table");
    CatalogTable loaded = CatalogTable.load(session, catalog, name, "report on");
    if (loaded.branch() != null) {
      throw new IllegalArgumentException(
          String.format("Cannot report on %s, because a branch is named by argument branch", name.replace("`", "")));
    }
    Table table = loaded.table();
    // A caching catalog hands out tables as they were when they were first loaded.
    table.refresh();
    Long snapshotId = arguments.number("snapshot_id");
    if (snapshotId == null) {
      TableMetadata metadata = ((HasTableOperations) table).operations().current();
      byte[] json = TableMetadataParser.toJson(metadata).getBytes(StandardCharsets.UTF_8);
      return List.<Object[]>of(row(metadata.metadataFileLocation(), json));
    }
    Snapshot snapshot = table.snapshot(snapshotId);
    if (snapshot == null) {
      throw new IllegalArgumentException(
          String.format("Cannot report on snapshot %d, because %s has no such snapshot", snapshotId, table.name()));
    }
    List<Object[]> rows = new ArrayList<>();
    rows.add(row(table.io().newInputFile(snapshot.manifestListLocation())));
    for (ManifestFile manifest : snapshot.allManifests(table.io())) {
      rows.add(row(table.io().newInputFile(manifest)));
    }
    return rows;
  }

  private static Object[] row(InputFile file) {
    try (SeekableInputStream stream = file.newStream()) {
      return row(file.location(), stream.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + file.location(), e);
    }
  }

  private static Object[] row(String location, byte[] content) {
    return new Object[] {UTF8String.fromString(location), content};
  }
}
