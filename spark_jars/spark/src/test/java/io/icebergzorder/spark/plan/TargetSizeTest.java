package io.icebergzorder.spark.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.icebergzorder.spark.spec.RewriteOptions;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

class TargetSizeTest {
  private static final long MIB = 1L << 20;
  private static final long[] PARTITIONS = {2048 * MIB, MIB, MIB};

  @Test
  void reportsAreBySizesThatRewritesChoose() throws Exception {
    try (InMemoryCatalog catalog = new InMemoryCatalog()) {
      catalog.initialize("lake", Map.of());
      catalog.createNamespace(Namespace.of("db"));
      Schema schema = new Schema(Types.NestedField.optional(1, "a", Types.LongType.get()));
      Table table = catalog.createTable(TableIdentifier.of("db", "t"), schema);
      assertEquals(16 * MIB, rules(table, false).target, "by the data: small partitions hold no half of the bytes");
      table.updateProperties().set("read.split.open-file-cost", String.valueOf(32 * MIB)).commit();
      assertEquals(64 * MIB, rules(table, false).target, "by the data, and a higher open cost");

      table.newAppend().set("zorder.target-file-size", 32 * MIB + " option").commit();
      assertEquals(32 * MIB, rules(table, false).target, "that of the last layout");

      table
          .newAppend()
          .set("zorder.target-file-size", 16 * MIB + " data")
          .commit();
      assertEquals(64 * MIB, rules(table, false).target, "by the data, which asks for four times that of the last layout");
      assertEquals(16 * MIB, rules(table, true).target, "a part does not speak for the table");

      table.updateProperties().set("write.target-file-size-bytes", String.valueOf(8 * MIB)).commit();
      assertEquals(8 * MIB, rules(table, false).target, "that of the table's property");
    }
  }

  private static IcebergRules rules(Table table, boolean isFiltered) {
    Long snapshotId = table.currentSnapshot() == null ? null : (Long) table.currentSnapshot().snapshotId();
    return TargetSize.rules(table, RewriteOptions.of(Map.of("min-input-files", "3"), false), snapshotId, PARTITIONS, 2, isFiltered);
  }
}
