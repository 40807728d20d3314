package io.icebergzorder.spark.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

class FileSizeRulesTest {
  private static final long MIB = 1L << 20;
  private static final long[] PARTITIONS = {2048 * MIB, MIB};

  @Test
  void reportsAreBySizesThatRewritesChoose() throws Exception {
    try (InMemoryCatalog catalog = new InMemoryCatalog()) {
      catalog.initialize("lake", Map.of());
      catalog.createNamespace(Namespace.of("db"));
      Schema schema = new Schema(Types.NestedField.optional(1, "a", Types.LongType.get()));
      Table table = catalog.createTable(TableIdentifier.of("db", "t"), schema);
      assertEquals(64 * MIB, FileSizeRules.of(table, null, PARTITIONS).target(), "by the data");

      table.newAppend().set("zorder.target-file-size-bytes", String.valueOf(32 * MIB)).commit();
      FileSizeRules last = FileSizeRules.of(table, table.currentSnapshot().snapshotId(), PARTITIONS);
      assertEquals(32 * MIB, last.target(), "that of the last layout");
      assertEquals(24 * MIB, last.least());

      table.updateProperties().set("write.target-file-size-bytes", String.valueOf(8 * MIB)).commit();
      long set = FileSizeRules.of(table, table.currentSnapshot().snapshotId(), PARTITIONS).target();
      assertEquals(8 * MIB, set, "that of the table's property");
    }
  }
}
