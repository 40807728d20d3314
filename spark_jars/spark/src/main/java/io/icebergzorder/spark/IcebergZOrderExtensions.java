package io.icebergzorder.spark;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
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
 * logs one line and stands aside, because an exception here would keep the session from starting. It is compiled for Java 8,
 * unlike the rest, so that it can say so where Java is too old.
 */
public final class IcebergZOrderExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit>
    implements SparkSessionExtensionsProvider {
  private static final Logger LOG = LoggerFactory.getLogger(IcebergZOrderExtensions.class);

  private static final int JAVA = 17;

  private static final String SEAM_3_5 = "io.icebergzorder.spark35.Spark35Seam";
  private static final String SEAM_4 = "io.icebergzorder.spark4.Spark4Seam";

  private static final String ICEBERG_MARKER = "org.apache.iceberg.spark.Spark3Util";

  /** What was seen: a user may name this class in a session that finds it as a service, too. */
  private static final Set<SparkSessionExtensions> SEEN = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    if (SEEN.add(extensions)) {
      String version = org.apache.spark.package$.MODULE$.SPARK_VERSION();
      String why = whyNot(version);
      try {
        if (why == null) {
          load(seam(version)).accept(extensions);
        } else {
          LOG.warn("Cannot offer strategy 'zorder', because {}", why);
        }
      } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
        LOG.warn("Cannot offer strategy 'zorder', because its part for Spark {} does not fit this installation", version, e);
      }
    }
    return BoxedUnit.UNIT;
  }

  private static String whyNot(String version) {
    if (javaVersion() < JAVA) {
      return "iceberg-zorder needs Java " + JAVA + " and this is " + javaVersion();
    }
    if (seam(version) == null) {
      return "iceberg-zorder has no part for Spark " + version + ": it serves Spark 3.5, 4.0 and 4.1";
    }
    try {
      Class.forName(ICEBERG_MARKER, false, IcebergZOrderExtensions.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      return "Iceberg's Spark runtime is not visible to the iceberg-zorder jar: put both jars in the same place"
          + " (spark.jars, spark.jars.packages or the jars directory)";
    }
    return null;
  }

  private static String seam(String version) {
    String line = minorVersion(version);
    return line.equals("3.5") ? SEAM_3_5 : line.equals("4.0") || line.equals("4.1") ? SEAM_4 : null;
  }

  /** 8 for "1.8", 17 for "17". */
  private static int javaVersion() {
    String version = System.getProperty("java.specification.version");
    return Integer.parseInt(version.startsWith("1.") ? version.substring(2) : version);
  }

  @SuppressWarnings("unchecked")
  private static Consumer<SparkSessionExtensions> load(String seam) throws ReflectiveOperationException {
    return (Consumer<SparkSessionExtensions>) Class.forName(seam).getDeclaredConstructor().newInstance();
  }

  public static String minorVersion(String version) {
    String[] parts = version.split("[.]", 3);
    return parts.length < 2 ? version : parts[0] + "." + parts[1];
  }
}
