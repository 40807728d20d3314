package io.icebergzorder.spark.run;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutColumn;
import io.icebergzorder.core.Placement;
import io.icebergzorder.core.PrefixOrder;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import io.icebergzorder.spark.request.RowOrder;
import io.icebergzorder.spark.sample.KeySources;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;

/**
 * The rows of a file group, arranged as a layout says: first each row goes to the partition of the data frame that stands for its
 * file, then each partition is sorted, by the index alone or by leading columns and then the index.
 *
 * <p>Route and index are expressions of the partitioning and of the sort, not columns, where that is possible: a column more would
 * have every row copied to add it and once more to drop it, which costs more than finding the positions a second time.
 */
final class RowArrangement {
  private final RowOrder order;
  private final Layout layout;
  private final Placement placement;
  private final KeySources sources;
  private final FunctionScope scope;
  private final Shared<Placement> shared;

  RowArrangement(Table table, RowOrder order, Layout layout, FunctionScope scope) {
    this.order = order;
    this.layout = layout;
    this.placement = layout.placement();
    this.sources = new KeySources(table, order, scope);
    this.scope = scope;
    this.shared = scope.share(placement);
  }

  /**
   * Arranges rows.
   *
   * @param rows of the table, by a staged scan
   * @param changesSpec whether they may go to more than one partition of the table
   * @return one partition of the data frame for each file of the layout, its rows in order; with the columns of the rows
   */
  Dataset<Row> of(Dataset<Row> rows, boolean changesSpec) {
    Column[] own = Arrays.stream(rows.columns()).map(name -> rows.col(quoted(name))).toArray(Column[]::new);
    Column packed = packed();
    Dataset<Row> routed = placement.needsTieBreakers() ? routedWithTies(rows, packed) : routed(rows, packed, functions.lit(0L));
    Column index = scope.call(new PositionFunctions.Index(shared), packed);
    // Within one partition the partition fields have one value each.
    int first = changesSpec ? 0 : order.partition().size();
    if (first < order.leadingOrders().size()) {
      return sortedByLeading(routed, first, index).select(own);
    }
    Dataset<Row> sorted = sortedByIndex(routed, index);
    return placement.needsTieBreakers() ? sorted.select(own) : sorted;
  }

  /** Each row in the partition of its file. */
  private Dataset<Row> routed(Dataset<Row> rows, Column packed, Column tieBreaker) {
    Shared<int[]> numbers = scope.share(HashRouting.numbers(layout.files()));
    Column route = scope.call(new PositionFunctions.Route(shared, numbers), packed, tieBreaker);
    return rows.repartition(layout.files(), route);
  }

  /** The same, with two columns more: rows that are alike in every clustering column are told apart by where they came from. */
  private Dataset<Row> routedWithTies(Dataset<Row> rows, Column packed) {
    Dataset<Row> located = SparkInternals.withFileAndPosition(rows);
    return routed(located, packed, functions.xxhash64(functions.col("_file"), functions.col("_pos")));
  }

  /** A sort by one long evaluates it once for each row. */
  private static Dataset<Row> sortedByIndex(Dataset<Row> routed, Column index) {
    return routed.sortWithinPartitions(index);
  }

  /** A sort by more keys evaluates them for each comparison, so the index and partition fields become columns first. */
  private Dataset<Row> sortedByLeading(Dataset<Row> routed, int first, Column index) {
    List<Column> key = new ArrayList<>();
    Dataset<Row> keyed = routed;
    for (int ordinal = first; ordinal < order.leadingOrders().size(); ordinal++) {
      Column value = sources.value(ordinal);
      // Iceberg's writer has one file open at a time: the rows of a partition must come one after the other.
      if (ordinal < order.partition().size()) {
        String name = StagedScan.unusedName(keyed, "_zorder_partition");
        keyed = keyed.withColumn(name, value);
        value = functions.col(name);
      }
      key.add(directed(value, order.leadingOrders().get(ordinal)));
    }
    String name = StagedScan.unusedName(keyed, "_zorder_index");
    key.add(functions.col(name));
    return keyed.withColumn(name, index).sortWithinPartitions(key.toArray(Column[]::new));
  }

  private static Column directed(Column column, PrefixOrder order) {
    if (order.descending()) {
      return order.nullsFirst() ? column.desc_nulls_first() : column.desc_nulls_last();
    }
    return order.nullsFirst() ? column.asc_nulls_first() : column.asc_nulls_last();
  }

  /** The positions of a row in all columns of the layout, side by side. */
  private Column packed() {
    Column packed = functions.lit(0L);
    for (LayoutColumn column : layout.columns()) {
      DataType type = sources.type(column.ordinal());
      Column position = scope.call(PositionFunctions.packed(column, type, scope), sources.value(column.ordinal()));
      Column known = functions.coalesce(position, functions.lit(PositionFunctions.packedOfNull(column)));
      packed = column == layout.columns().get(0) ? known : packed.bitwiseOR(known);
    }
    return packed;
  }

  private static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }
}
