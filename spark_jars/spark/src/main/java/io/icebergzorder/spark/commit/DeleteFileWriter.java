package io.icebergzorder.spark.commit;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.util.Tasks;
import org.apache.iceberg.util.ThreadPools;

/** Writes deletes of rows by their positions, as the table's format version has them. */
final class DeleteFileWriter {
  /** The path of the data file must not be cut in the bounds, by which readers tell whose deletes these are. */
  private static final MetricsConfig WHOLE_BOUNDS =
      MetricsConfig.fromProperties(Map.of(TableProperties.DEFAULT_WRITE_METRICS_MODE, "full"));

  private final Table table;
  private final List<DeleteFile> written = Collections.synchronizedList(new ArrayList<>());

  DeleteFileWriter(Table table) {
    this.table = table;
  }

  /** Everything that was written. */
  List<DeleteFile> written() {
    return written;
  }

  /** Writes a deletion vector for each data file, all in one Puffin file. */
  void vectors(Map<DataFile, long[]> positions) throws IOException {
    if (positions.isEmpty()) {
      return;
    }
    BaseDVFileWriter writer = new BaseDVFileWriter(files(FileFormat.PUFFIN), path -> null);
    try (writer) {
      positions.forEach((file, deleted) ->
          Arrays.stream(deleted)
              .forEach(each -> writer.delete(file.location(), each, table.specs().get(file.specId()), file.partition())));
    }
    written.addAll(writer.result().deleteFiles());
  }

  /** Writes a position delete file for each data file, several at a time. */
  void positions(Map<DataFile, long[]> positions) throws IOException {
    Tasks.foreach(positions.entrySet())
        .executeWith(ThreadPools.getWorkerPool())
        .stopOnFailure()
        .throwFailureWhenFinished()
        .run(each -> positions(each.getKey(), Map.of(each.getKey().location(), each.getValue())), IOException.class);
  }

  /** Writes a position delete file for data files of the partition of a file; their paths and positions are sorted. */
  void positions(ContentFile<?> like, Map<String, long[]> positions) throws IOException {
    PartitionSpec spec = table.specs().get(like.specId());
    OutputFileFactory files = files(FileFormat.PARQUET);
    EncryptedOutputFile output = spec.isUnpartitioned() ? files.newOutputFile() : files.newOutputFile(spec, like.partition());
    PositionDeleteWriter<Void> writer =
        Parquet.writeDeletes(output)
            .setAll(table.properties())
            .metricsConfig(WHOLE_BOUNDS)
            .withSpec(spec)
            .withPartition(like.partition())
            .withKeyMetadata(output.keyMetadata())
            .overwrite()
            .buildPositionWriter();
    try (writer) {
      PositionDelete<Void> delete = PositionDelete.create();
      positions.forEach((path, deleted) -> Arrays.stream(deleted).forEach(each -> writer.write(delete.set(path, each))));
    }
    written.add(writer.toDeleteFile());
  }

  private OutputFileFactory files(FileFormat format) {
    return OutputFileFactory.builderFor(table, 0, 0).format(format).operationId(UUID.randomUUID().toString()).suffix("deletes").build();
  }

  static void delete(Table table, Collection<DeleteFile> files) {
    CatalogUtil.deleteFiles(table.io(), files.stream().map(DeleteFile::location).distinct().toList(), "delete", true);
  }
}
