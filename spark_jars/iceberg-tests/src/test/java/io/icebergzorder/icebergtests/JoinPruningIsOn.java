package io.icebergzorder.icebergtests;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a class of tests in which no scan was the plugin's: its tests would pass just as well without join pruning. Of classes that make
 * no query of their own, or join by how tables are partitioned, whose scans join pruning leaves to Iceberg, it holds that, too.
 */
public final class JoinPruningIsOn implements BeforeAllCallback, AfterAllCallback {
  private static final Set<String> ARE_LEFT_TO_ICEBERG =
      Set.of("TestConflictValidation", "TestStoragePartitionedJoinsInRowLevelOperations", "TestStructuredStreamingRead3");

  @Override
  public void beforeAll(ExtensionContext context) {
    ScanCounts.reset();
  }

  @Override
  public void afterAll(ExtensionContext context) {
    String name = context.getRequiredTestClass().getName();
    System.out.printf(
        "%s: %d scans of the plugin, %d of them with keys of joins, others %s%n",
        name, ScanCounts.ours(), ScanCounts.withKeys(), ScanCounts.others());
    if (ARE_LEFT_TO_ICEBERG.contains(context.getRequiredTestClass().getSimpleName())) {
      assertThat(ScanCounts.ours()).as("scans of the plugin in %s", name).isZero();
      assertThat(ScanCounts.others()).as("scans in %s", name).isNotEmpty();
    } else {
      assertThat(ScanCounts.ours()).as("scans of the plugin in %s", name).isPositive();
    }
  }
}
