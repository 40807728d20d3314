package io.icebergzorder.spark.bounds;

import io.icebergzorder.core.Beginning;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.MetricsCheck;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.MetricsModes;
import org.apache.iceberg.Table;

/** The metrics modes of columns: how much of a value new files keep in lower/upper bounds. */
public final class KeptBounds {
  private final Map<ClusteringColumn, MetricsModes.MetricsMode> modes;

  private KeptBounds(Map<ClusteringColumn, MetricsModes.MetricsMode> modes) {
    this.modes = modes;
  }

  /** Reads the modes from the properties that a table has now. */
  public static KeptBounds of(Table table, List<ClusteringColumn> columns) {
    MetricsConfig metrics = MetricsConfig.forTable(table);
    Map<ClusteringColumn, MetricsModes.MetricsMode> modes = new LinkedHashMap<>();
    columns.forEach(column -> modes.put(column, metrics.columnMode(String.join(".", column.parts()))));
    return new KeptBounds(modes);
  }

  /** The same, but for some columns, which get other modes. */
  public KeptBounds with(Map<ClusteringColumn, String> others) {
    Map<ClusteringColumn, MetricsModes.MetricsMode> replaced = new LinkedHashMap<>(modes);
    others.forEach((column, mode) -> replaced.put(column, MetricsModes.fromString(mode)));
    return new KeptBounds(replaced);
  }

  /** What would be kept if all were of columns of which nothing is. */
  public KeptBounds mended() {
    Map<ClusteringColumn, String> wanted = new LinkedHashMap<>();
    modes.keySet().stream().filter(column -> !areKept(column)).forEach(column -> wanted.put(column, "full"));
    return with(wanted);
  }

  /** The columns of which no bounds are kept, by their names in messages, and their modes. */
  public Map<String, String> missing() {
    Map<String, String> missing = new LinkedHashMap<>();
    modes.keySet().stream().filter(column -> !areKept(column)).forEach(column -> missing.put(column.name(), mode(column)));
    return missing;
  }

  public static String property(ClusteringColumn column) {
    return MetricsCheck.COLUMN_MODE + String.join(".", column.parts());
  }

  public String mode(ClusteringColumn column) {
    return modes.get(column).toString();
  }

  public boolean areKept(ClusteringColumn column) {
    return areKept(modes.get(column));
  }

  public static boolean areKept(MetricsModes.MetricsMode mode) {
    return !(mode instanceof MetricsModes.None || mode instanceof MetricsModes.Counts);
  }

  public static boolean isCut(ClusteringColumn column) {
    return MetricsCheck.isCut(column.type());
  }

  /** Whether lengths are counted in characters, not in bytes. */
  public static boolean isText(ClusteringColumn column) {
    return column.type().equals("string");
  }

  /** The characters of a string, or bytes of a binary, that are kept; empty if all are, or nothing is. */
  public OptionalInt length(ClusteringColumn column) {
    return isCut(column) && modes.get(column) instanceof MetricsModes.Truncate truncate
        ? OptionalInt.of(truncate.length())
        : OptionalInt.empty();
  }

  /** Whether no less is kept of a column's values than another mode keeps. */
  public boolean keepsAsMuchAs(String other, ClusteringColumn column) {
    OptionalInt length = length(column);
    return areKept(column)
        && (length.isEmpty()
            || MetricsModes.fromString(other) instanceof MetricsModes.Truncate truncate && length.getAsInt() >= truncate.length());
  }

  /** What is kept of the keys of a column of bytes. */
  public Beginning kept(ClusteringColumn column) {
    OptionalInt length = length(column);
    return length.isEmpty() ? Beginning.WHOLE : new Beginning(length.getAsInt(), isText(column));
  }
}
