package io.icebergzorder.spark;

import java.util.Map;
import java.util.function.Consumer;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * The entry that Spark calls for every new session, found through {@code META-INF/services} (or named
 * in {@code spark.sql.extensions}).
 *
 * <p>It refers to no class of Iceberg and to none that differs between Spark lines: it looks at the
 * Spark version, loads the seam of that line by name, and lets it add its rules. On any mismatch it
 * logs one line and stands aside, because an exception here would keep the session from starting.
 */
public final class IcebergZOrderExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit>
    implements SparkSessionExtensionsProvider {
  private static final Logger LOG = LoggerFactory.getLogger(IcebergZOrderExtensions.class);

  private static final Map<String, String> SEAMS = Map.of("4.1", "io.icebergzorder.spark41.Spark41Seam");

  private static final String ICEBERG_MARKER = "org.apache.iceberg.spark.Spark3Util";

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    String version = org.apache.spark.package$.MODULE$.SPARK_VERSION();
    String seam = SEAMS.get(minorVersion(version));
    if (seam == null) {
      LOG.warn(
          "Cannot offer strategy 'zorder', because iceberg-zorder has no part for Spark {}: it serves Spark {}",
          version,
          SEAMS.keySet());
      return BoxedUnit.UNIT;
    }

    try {
      Class.forName(ICEBERG_MARKER, false, IcebergZOrderExtensions.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      LOG.warn(
          "Cannot offer strategy 'zorder', because Iceberg's Spark runtime is not visible to the iceberg-zorder jar:"
              + " put both jars in the same place (spark.jars, spark.jars.packages or the jars directory)");
      return BoxedUnit.UNIT;
    }

    try {
      load(seam).accept(extensions);
    } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
      LOG.warn("Cannot offer strategy 'zorder', because its part for Spark {} does not fit this installation", version, e);
    }
    return BoxedUnit.UNIT;
  }

  @SuppressWarnings("unchecked")
  private static Consumer<SparkSessionExtensions> load(String seam) throws ReflectiveOperationException {
    return (Consumer<SparkSessionExtensions>) Class.forName(seam).getDeclaredConstructor().newInstance();
  }

  static String minorVersion(String version) {
    String[] parts = version.split("[.]", 3);
    return parts.length < 2 ? version : parts[0] + "." + parts[1];
  }
}
