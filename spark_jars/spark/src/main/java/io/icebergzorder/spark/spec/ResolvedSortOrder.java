package io.icebergzorder.spark.spec;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Curve;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.SortOrder.PrefixColumn;
import io.icebergzorder.core.SortOrder.PrefixOrder;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.internals.FunctionScope;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;

/** A sort order, resolved on a table. */
public record ResolvedSortOrder(
    List<PartitionColumn> partition,
    List<ClusteringColumn> prefix,
    List<PrefixOrder> prefixOrders,
    List<ClusteringColumn> columns,
    double[] weights,
    Curve curve,
    List<String> ignored) {
  /** The same order, within each partition of the files to be written. */
  public ResolvedSortOrder partitionedBy(List<PartitionColumn> fields) {
    return new ResolvedSortOrder(fields, prefix, prefixOrders, columns, weights, curve, ignored);
  }

  /** The weight of a column in averages; prefix columns have weight 1. */
  public double weight(int place) {
    int ofClustering = place - prefix.size();
    return ofClustering < 0 || weights.length == 0 ? 1 : weights[ofClustering];
  }

  /** The partition fields, the columns of the prefix, then the clustering columns: what a layout is fitted to. */
  public List<ClusteringColumn> all() {
    return Stream.concat(partition.stream().map(PartitionColumn::key), named().stream()).toList();
  }

  public List<ClusteringColumn> named() {
    return Stream.concat(prefix.stream(), columns.stream()).toList();
  }

  /** The value of one of {@link #all} in a data frame of the table: a column's, or a partition field's key. */
  public Column value(int ordinal, FunctionScope scope) {
    if (ordinal >= partition.size()) {
      return functions.col(all().get(ordinal).name());
    }
    PartitionColumn field = partition.get(ordinal);
    return scope.call(field.value(), functions.col(field.source().name()));
  }

  /** The type as which Spark reads that value. */
  public DataType type(int ordinal) {
    return SparkSchemaUtil.convert(Types.fromPrimitiveString(all().get(ordinal).type()));
  }

  /** How the columns that a layout splits first are sorted: the partition fields, then the columns of the prefix. */
  public List<PrefixOrder> leadingOrders() {
    return Stream.concat(partition.stream().map(field -> PrefixOrder.OF_KEYS), prefixOrders.stream()).toList();
  }

  /**
   * The request for a layout of {@code files} files.
   *
   * @param extents by column, the share of the partition that their group spans, in thousandths; empty if the group is not a part of it
   */
  public LayoutRequest layoutRequest(ZOrderOptions options, int files, Map<String, Integer> extents) {
    LayoutRequest request =
        new LayoutRequest(files, options.cuts(), curve, leadingOrders(), options.maxBoundaries(), options.sizeTolerance(), weights);
    return extents.isEmpty()
        ? request
        : request.spanning(columns.stream().mapToInt(column -> extents.getOrDefault(column.name(), 1000)).toArray());
  }

  public String names(String separator) {
    return columns.stream().map(ClusteringColumn::name).collect(Collectors.joining(separator));
  }

  public String sortOrder() {
    List<PrefixColumn> first =
        IntStream.range(0, prefix.size()).mapToObj(i -> new PrefixColumn(prefix.get(i).parts(), prefixOrders.get(i))).toList();
    return new SortOrder(curve, columns.stream().map(ClusteringColumn::parts).toList(), first).text();
  }
}
