package io.icebergzorder.spark.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.icebergzorder.core.metrics.FileSizes;
import io.icebergzorder.spark.spec.RewriteOptions;
import java.util.Map;
import java.util.Random;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
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
      assertEquals(16 * MIB, rules(table, false).sizes.target(), "by the data: small partitions hold no half of the bytes");
      table.updateProperties().set("read.split.open-file-cost", String.valueOf(32 * MIB)).commit();
      assertEquals(64 * MIB, rules(table, false).sizes.target(), "by the data, and a higher open cost");

      table.newAppend().set("zorder.target-file-size", 32 * MIB + " option").commit();
      assertEquals(32 * MIB, rules(table, false).sizes.target(), "that of the last layout");

      table
          .newAppend()
          .set("zorder.target-file-size", 16 * MIB + " data")
          .commit();
      assertEquals(64 * MIB, rules(table, false).sizes.target(), "by the data, which asks for four times that of the last layout");
      assertEquals(16 * MIB, rules(table, true).sizes.target(), "a part does not speak for the table");

      table.updateProperties().set("write.target-file-size-bytes", String.valueOf(8 * MIB)).commit();
      assertEquals(8 * MIB, rules(table, false).sizes.target(), "that of the table's property");
    }
  }

  @Test
  void filesAreCountedAsIcebergDoes() throws Exception {
    try (InMemoryCatalog catalog = new InMemoryCatalog()) {
      catalog.initialize("lake", Map.of());
      catalog.createNamespace(Namespace.of("db"));
      Table table = catalog.createTable(TableIdentifier.of("db", "t"), new Schema(Types.NestedField.optional(1, "a", Types.LongType.get())));
      Random random = new Random(7);
      for (int i = 0; i < 2_000; i++) {
        long target = 100 + random.nextInt(1_000);
        FileSizes sizes = new FileSizes(target, random.nextInt((int) target), target + 1 + random.nextInt(1_000), 1);
        Counting planner = new Counting(table, sizes);
        long size = random.nextInt(20_000);
        assertEquals(Math.max(1, planner.expectedOutputFiles(size)), sizes.expectedFiles(size), () -> size + " bytes by " + sizes);
      }
      assertEquals(15, new FileSizes(100, 75, 180, 1.5).expectedFiles(1_000));
    }
  }

  /** Iceberg's planner, whose count of files only subclasses see. */
  private static final class Counting extends BinPackRewriteFilePlanner {
    Counting(Table table, FileSizes sizes) {
      super(table);
      init(
          Map.of(
              TARGET_FILE_SIZE_BYTES, String.valueOf(sizes.target()),
              MIN_FILE_SIZE_BYTES, String.valueOf(sizes.least()),
              MAX_FILE_SIZE_BYTES, String.valueOf(sizes.most())));
    }

    @Override
    protected int expectedOutputFiles(long size) {
      return super.expectedOutputFiles(size);
    }
  }

  private static IcebergRules rules(Table table, boolean isFiltered) {
    Long snapshotId = table.currentSnapshot() == null ? null : (Long) table.currentSnapshot().snapshotId();
    return TargetSize.rules(table, RewriteOptions.of(Map.of("min-input-files", "3"), false), snapshotId, PARTITIONS, 2, isFiltered);
  }
}
