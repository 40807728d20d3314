package io.icebergzorder.spark.plan;

import java.util.Map;
import java.util.function.LongToIntFunction;
import org.apache.iceberg.Table;

/**
 * The sizes that a table's data files are to have, by its properties.
 *
 * @param target in bytes
 * @param least below it a file is rewritten
 * @param most above it a file is rewritten
 * @param expectedFiles into how many files so many bytes are written
 */
public record FileSizeRules(long target, long least, long most, LongToIntFunction expectedFiles) {
  /**
   * Reads the properties.
   *
   * @throws IllegalArgumentException if Iceberg refuses one
   */
  public static FileSizeRules of(Table table) {
    IcebergRules rules = new IcebergRules(table, Map.of());
    return new FileSizeRules(
        rules.targetFileSize(), rules.minFileSize(), rules.maxFileSize(), rules::expectedOutputFiles);
  }
}
