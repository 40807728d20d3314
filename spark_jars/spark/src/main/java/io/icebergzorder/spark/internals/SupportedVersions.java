package io.icebergzorder.spark.internals;

import io.icebergzorder.spark.IcebergZOrderExtensions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.IcebergBuild;
import org.apache.iceberg.actions.RewriteDataFilesCommitManager;

/** The versions of Iceberg whose staged scan is known: one that is not limited to staged files would double rows. */
public final class SupportedVersions {
  /** By minor version of Spark, the minor versions of Iceberg. */
  private static final Map<String, List<String>> ICEBERG =
      Map.of("3.5", List.of("1.10", "1.11", "1.12"), "4.0", List.of("1.10", "1.11"), "4.1", List.of("1.11", "1.12"));

  private SupportedVersions() {}

  public static void checkIceberg() {
    check(org.apache.spark.package$.MODULE$.SPARK_VERSION(), IcebergBuild.version());
  }

  /** Whether the Iceberg of this session can commit a rewrite to a branch other than main: from 1.11 on. */
  public static boolean commitsToBranches() {
    return Arrays.stream(RewriteDataFilesCommitManager.class.getConstructors())
        .anyMatch(constructor -> constructor.getParameterCount() == 5);
  }

  /** Whether this session has one of the pairs of Spark and Iceberg that docs/reference/versions.md lists. */
  public static boolean isKnown() {
    return knownOn(org.apache.spark.package$.MODULE$.SPARK_VERSION()).contains(IcebergZOrderExtensions.minorVersion(IcebergBuild.version()));
  }

  static List<String> knownOn(String spark) {
    return ICEBERG.getOrDefault(IcebergZOrderExtensions.minorVersion(spark), List.of());
  }

  static void check(String spark, String iceberg) {
    String line = IcebergZOrderExtensions.minorVersion(spark);
    List<String> known = knownOn(spark);
    if (!known.contains(IcebergZOrderExtensions.minorVersion(iceberg))) {
      throw new UnsupportedOperationException(
          ("Cannot rewrite data files by zorder, because this session has Iceberg %s: on Spark %s, iceberg-zorder"
                  + " knows the staged scans of Iceberg %s only, and an unknown one may double every row")
              .formatted(iceberg, line, String.join(" and ", known)));
    }
  }
}
