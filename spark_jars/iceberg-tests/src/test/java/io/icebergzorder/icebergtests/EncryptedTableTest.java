package io.icebergzorder.icebergtests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ParameterizedTestExtension;
import org.apache.iceberg.Parameters;
import org.apache.iceberg.Table;
import org.apache.iceberg.encryption.UnitestKMS;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.spark.SparkCatalogConfig;
import org.apache.iceberg.spark.extensions.ExtensionsTestBase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tables that Iceberg encrypts, which it does in a Hive catalog with a key management service. They have no deletes here: Iceberg
 * 1.11 does not read the deletion vectors that it writes for them.
 */
@ExtendWith(ParameterizedTestExtension.class)
public class EncryptedTableTest extends ExtensionsTestBase {
  @Parameters(name = "catalogName = {0}, implementation = {1}, config = {2}")
  protected static Object[][] parameters() {
    Map<String, String> properties = new HashMap<>(SparkCatalogConfig.HIVE.properties());
    properties.put(CatalogProperties.ENCRYPTION_KMS_IMPL, UnitestKMS.class.getCanonicalName());
    return new Object[][] {{SparkCatalogConfig.HIVE.catalogName(), SparkCatalogConfig.HIVE.implementation(), properties}};
  }

  @AfterEach
  public void removeTable() {
    sql("DROP TABLE IF EXISTS %s", tableName);
  }

  @TestTemplate
  public void rewrittenFilesAreEncryptedToo() throws IOException {
    sql(
        "CREATE TABLE %s (id bigint, a int, data string) USING iceberg"
            + " TBLPROPERTIES ('encryption.key-id' = '%s', 'format-version' = '3')",
        tableName, UnitestKMS.MASTER_KEY_NAME1);
    for (int file = 0; file < 3; file++) {
      sql("INSERT INTO %s SELECT id + %d, hash(id), 'text' FROM range(0, 1000, 1, 1)", tableName, 1000 * file);
    }
    String rows = "SELECT count(*), sum(id), sum(a), sum(_row_id), sum(_last_updated_sequence_number) FROM " + tableName;
    List<Object[]> before = sql(rows);

    sql(
        "CALL %s.system.rewrite_data_files(table => '%s', strategy => 'zorder', sort_order => 'zorder(a, id)',"
            + " options => map('rewrite-all', 'true', 'target-file-size-bytes', '9000'))",
        catalogName, tableIdent);

    assertEquals("rows", before, sql(rows));
    validationCatalog.initialize(catalogName, catalogConfig);
    Table table = validationCatalog.loadTable(tableIdent);
    assertThat(table.currentSnapshot().summary()).containsEntry("zorder.columns", "a,id");
    int files = 0;
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        files++;
        assertThat(task.file().keyMetadata()).isNotNull();
        assertThat(firstBytes(task.file().location())).isEqualTo("PARE");
      }
    }
    assertThat(files).isGreaterThan(1);
  }

  /** A Parquet file with an encrypted footer begins with other bytes than any other. */
  private static String firstBytes(String location) throws IOException {
    try (HadoopFileIO io = new HadoopFileIO(hiveConf);
        SeekableInputStream stream = io.newInputFile(location).newStream()) {
      return new String(stream.readNBytes(4), StandardCharsets.US_ASCII);
    }
  }
}
