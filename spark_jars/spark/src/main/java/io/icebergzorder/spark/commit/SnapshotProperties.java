package io.icebergzorder.spark.commit;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;
import scala.collection.Iterator;

/** What a session wants to have in the summaries of its snapshots. Iceberg's own writes heed the same settings. */
public final class SnapshotProperties {
  private static final String PREFIX = "spark.sql.iceberg.snapshot-property.";

  private SnapshotProperties() {}

  /** The properties, by the rest of the names of the settings. */
  public static Map<String, String> of(SparkSession session) {
    Map<String, String> found = new HashMap<>();
    Iterator<Tuple2<String, String>> settings = session.conf().getAll().iterator();
    while (settings.hasNext()) {
      Tuple2<String, String> setting = settings.next();
      if (setting._1().startsWith(PREFIX)) {
        found.put(setting._1().substring(PREFIX.length()), setting._2());
      }
    }
    return found;
  }
}
