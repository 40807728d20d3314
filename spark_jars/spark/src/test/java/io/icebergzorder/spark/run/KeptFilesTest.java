package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Attempts of a task name their files alike, as Iceberg names them, in whatever directories the table has. */
class KeptFilesTest {
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "p", Types.StringType.get()));

  private final InMemoryCatalog catalog = new InMemoryCatalog();

  @BeforeEach
  void open() {
    catalog.initialize("lake", Map.of());
    catalog.createNamespace(Namespace.of("db"));
  }

  @AfterEach
  void close() throws IOException {
    catalog.close();
  }

  private Table table(boolean isPartitioned, boolean isObjectStorage) {
    PartitionSpec spec =
        isPartitioned ? PartitionSpec.builderFor(SCHEMA).identity("p").build() : PartitionSpec.unpartitioned();
    return catalog.createTable(
        TableIdentifier.of("db", "t"),
        SCHEMA,
        spec,
        Map.of(TableProperties.OBJECT_STORE_ENABLED, String.valueOf(isObjectStorage)));
  }

  /** Writes files as the tasks of one of Iceberg's writes do. */
  private static List<DataFile> write(Table table, int partition, long attempt, String... values) throws IOException {
    OutputFileFactory factory =
        OutputFileFactory.builderFor(table, partition, attempt).format(FileFormat.PARQUET).operationId("query").build();
    List<DataFile> files = new ArrayList<>();
    for (String value : values) {
      PartitionKey key = new PartitionKey(table.spec(), SCHEMA);
      GenericRecord row = GenericRecord.create(SCHEMA);
      row.setField("p", value);
      key.partition(row);
      var output = table.spec().isUnpartitioned() ? factory.newOutputFile() : factory.newOutputFile(key);
      try (PositionOutputStream stream = output.encryptingOutputFile().create()) {
        stream.write(1);
      }
      DataFiles.Builder file =
          DataFiles.builder(table.spec())
              .withPath(output.encryptingOutputFile().location())
              .withFileSizeInBytes(1)
              .withRecordCount(1);
      files.add((table.spec().isUnpartitioned() ? file : file.withPartition(key)).build());
    }
    return files;
  }

  private static Set<String> locations(List<DataFile> files) {
    return files.stream().map(DataFile::location).collect(Collectors.toSet());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void attemptsThatLost(int kind) throws IOException {
    Table table = table(kind % 2 == 1, kind / 2 == 1);
    // The second partition has written two files of one number each, which are not its own.
    List<DataFile> won = new ArrayList<>(write(table, 7, 12, "a", "a/b c", null));
    won.addAll(write(table, 8, 12, "a"));
    List<DataFile> lost = new ArrayList<>(write(table, 7, 9, "a", "a/b c", null));
    lost.addAll(write(table, 8, 9, "a"));
    KeptFiles kept = new KeptFiles(table, List.of(List.of(), won));

    assertEquals(locations(lost), kept.others(1, 9));
    assertEquals(Set.of(), kept.others(1, 12));
    assertEquals(Set.of(), kept.others(0, 9));
  }

  @Test
  void whatIsKeptIsNeverDeleted() throws IOException {
    Table table = table(true, false);
    List<DataFile> won = write(table, 0, 1, "a");
    List<DataFile> lost = write(table, 0, 0, "a");
    KeptFiles kept = new KeptFiles(table, List.of(won));
    for (DataFile file : List.of(won.get(0), lost.get(0))) {
      kept.deleteOther(file.location());
    }
    kept.deleteOther(table.locationProvider().newDataLocation("never-written.parquet"));

    InMemoryFileIO io = (InMemoryFileIO) table.io();
    assertTrue(io.fileExists(won.get(0).location()));
    assertFalse(io.fileExists(lost.get(0).location()));
  }

  @Test
  void filesThatAreNamedInAnotherWayTellNothing() {
    Table table = table(false, false);
    for (String name : List.of("0-1-query-00001.parquet", "part-0.parquet", "00000-01-query.parquet")) {
      DataFile file =
          DataFiles.builder(table.spec())
              .withPath("/elsewhere/" + name)
              .withFileSizeInBytes(1)
              .withRecordCount(1)
              .build();
      assertEquals(Set.of(), new KeptFiles(table, List.of(List.of(file))).others(0, 0));
    }
  }
}
