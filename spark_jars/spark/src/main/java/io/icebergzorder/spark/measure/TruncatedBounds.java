package io.icebergzorder.spark.measure;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Sample;
import io.icebergzorder.spark.request.RowOrder;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.MetricsModes;
import org.apache.iceberg.Table;

/**
 * Finds clustering columns whose lower/upper bounds are cut to a beginning that all their values share: every file then has
 * the same bounds, and no layout can help.
 */
public final class TruncatedBounds {
  private TruncatedBounds() {}

  /** What to warn of, naming the column and the table property that mends it. */
  public static List<String> warnings(Table table, RowOrder order, List<Sample> samples) {
    List<String> warnings = new ArrayList<>();
    List<ClusteringColumn> columns = order.all();
    for (int i = order.partition().size(); i < columns.size(); i++) {
      ClusteringColumn column = columns.get(i);
      OptionalInt length = length(table, column);
      if (length.isPresent() && beginAlike(samples, i, length.getAsInt(), column.type().equals("string"))) {
        warnings.add(
            String.format(
                Locale.ROOT,
                "All sampled values of clustering column %s of %s begin with the same %d characters, and the table keeps only so"
                    + " many of its lower/upper bounds: no file can be skipped by it. ALTER TABLE ... SET TBLPROPERTIES"
                    + " ('write.metadata.metrics.column.%s' = 'full') and rewrite again.",
                column.name(), table.name(), length.getAsInt(), name(column)));
      }
    }
    return warnings;
  }

  /** The characters of a string, or bytes of a binary, that the table keeps of lower/upper bounds; empty if it keeps all. */
  public static OptionalInt length(Table table, ClusteringColumn column) {
    boolean isCut = column.type().equals("string") || column.type().equals("binary");
    return isCut && MetricsConfig.forTable(table).columnMode(name(column)) instanceof MetricsModes.Truncate truncate
        ? OptionalInt.of(truncate.length())
        : OptionalInt.empty();
  }

  /** What the table keeps, in lower/upper bounds, of the keys of a column of bytes. */
  static UnaryOperator<byte[]> kept(Table table, ClusteringColumn column) {
    OptionalInt length = length(table, column);
    if (length.isEmpty()) {
      return key -> key;
    }
    Charset charset = charset(column.type().equals("string"));
    return key -> {
      String value = new String(key, charset);
      return value.codePointCount(0, value.length()) <= length.getAsInt()
          ? key
          : value.substring(0, value.offsetByCodePoints(0, length.getAsInt())).getBytes(charset);
    };
  }

  /** One byte is one character in Latin-1, which serves for binary columns as UTF-8 does for text. */
  private static Charset charset(boolean isText) {
    return isText ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1;
  }

  private static String name(ClusteringColumn column) {
    return String.join(".", column.parts());
  }

  private static boolean beginAlike(List<Sample> samples, int column, int length, boolean text) {
    Set<String> beginnings = new HashSet<>();
    boolean longer = false;
    for (Sample sample : samples) {
      KeyColumn keys = sample.columns().get(column);
      for (int row = 0; row < keys.size(); row++) {
        if (keys.state(row) == KeyColumn.VALUE) {
          // A key that was cut in a character has more characters before it than are compared.
          String value = new String(keys.bytesKey(row), charset(text));
          int characters = value.codePointCount(0, value.length());
          longer |= characters > length;
          beginnings.add(characters > length ? value.substring(0, value.offsetByCodePoints(0, length)) : value);
          if (beginnings.size() > 1) {
            return false;
          }
        }
      }
    }
    return longer;
  }
}
