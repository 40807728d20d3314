package io.icebergzorder.icebergtests;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a class of tests in which no scan was the plugin's: its tests would pass just as well without join pruning. */
public final class JoinPruningIsOn implements BeforeAllCallback, AfterAllCallback {
  @Override
  public void beforeAll(ExtensionContext context) {
    ScanCounts.reset();
  }

  @Override
  public void afterAll(ExtensionContext context) {
    String name = context.getRequiredTestClass().getName();
    System.out.printf(
        "%s: %d scans of the plugin, %d of them with keys of joins, %d other scans%n",
        name, ScanCounts.ours(), ScanCounts.withKeys(), ScanCounts.others());
    assertThat(ScanCounts.ours()).as("scans of the plugin in %s", name).isPositive();
  }
}
