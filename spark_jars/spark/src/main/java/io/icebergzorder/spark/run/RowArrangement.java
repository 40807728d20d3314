package io.icebergzorder.spark.run;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.LayoutColumn;
import io.icebergzorder.core.PrefixOrder;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.SessionCatalog;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/** The rows of a job, each in the partition that stands for the task that writes its file, and sorted there as its layout says. */
// What rows are routed and sorted by is found as they are read, and travels in columns of its own, which StagedWrite drops: to take them
// off here would have every row copied once more.
final class RowArrangement {
  private static final int SPARK_SEED = 42;

  private final ResolvedSortOrder order;
  private final GroupJob job;
  private final FunctionScope scope;
  private final int[] groupsOfPartitions;
  private final Shared<int[]> tasksOfFiles;

  RowArrangement(ResolvedSortOrder order, GroupJob job, int[] groupsOfPartitions, FunctionScope scope) {
    this.order = order;
    this.job = job;
    this.scope = scope;
    this.groupsOfPartitions = groupsOfPartitions;
    this.tasksOfFiles = scope.share(job.tasksOfFiles());
  }

  /**
   * Rows in order, with so many columns of the table.
   *
   * @param hasFiles whether the next column has the destination of a row; otherwise each task has one file
   * @param placesOfFile the lower bits of a destination that do not belong to the number of the file
   */
  record Arranged(Dataset<Row> rows, int columns, boolean hasFiles, int placesOfFile, Shared<int[]> tasksOfFiles) {}

  Arranged of(Dataset<Row> rows) {
    List<Destination> destinations = Destination.of(job);
    Shared<Destination> destination = scope.share(destinations, groupsOfPartitions);
    boolean hasTies = destinations.stream().anyMatch(each -> each.placement().needsTieBreakers());
    Dataset<Row> located = hasTies ? SparkInternals.withFileAndPosition(rows) : rows;
    Column found = scope.call(new PositionFunctions.RowDestination(destination), packed(), tieBreaker(hasTies));
    int placesOfFile = destinations.get(0).placesOfFile();
    // Within one partition of the table its fields have one value each.
    boolean spansPartitions = job.groups().stream().anyMatch(group -> group.group().spansPartitions());
    int leading = spansPartitions ? 0 : order.partition().size();
    boolean areOneFile = job.isInPlace() && job.filesPerTask() == 1;
    if (areOneFile && leading == order.leadingOrders().size()) {
      // A sort by one long evaluates it once for each row, and groups of one file have no ties to break.
      return new Arranged(rows.sortWithinPartitions(found), rows.columns().length, false, placesOfFile, tasksOfFiles);
    }
    List<Column> columns = new ArrayList<>();
    Arrays.stream(rows.columns()).map(name -> rows.col(SparkInternals.quoted(name))).forEach(columns::add);
    Column known = added(columns, found);
    List<Column> key = new ArrayList<>();
    if (job.filesPerTask() > 1 && leading < order.leadingOrders().size()) {
      key.add(functions.shiftright(known, placesOfFile));
    }
    for (int ordinal = leading; ordinal < order.leadingOrders().size(); ordinal++) {
      Column value = order.value(ordinal, scope);
      // Iceberg's writer has one file open at a time: the rows of a partition must come one after the other.
      Column leadingValue = ordinal < order.partition().size() ? added(columns, value) : value;
      key.add(directed(leadingValue, order.leadingOrders().get(ordinal)));
    }
    key.add(known);
    Dataset<Row> selected = located.select(columns.toArray(Column[]::new));
    Dataset<Row> routed = job.isInPlace() ? selected : routed(selected, known, placesOfFile);
    Dataset<Row> sorted = routed.sortWithinPartitions(key.toArray(Column[]::new));
    return new Arranged(sorted, rows.columns().length, !areOneFile, placesOfFile, tasksOfFiles);
  }

  /** Rows that are alike in every clustering column are told apart by where they came from. */
  private static Column tieBreaker(boolean hasTies) {
    return hasTies ? functions.xxhash64(functions.col("_file"), functions.col("_pos")) : functions.lit(0L);
  }

  private Dataset<Row> routed(Dataset<Row> rows, Column destination, int placesOfFile) {
    int[] tasks = job.tasksOfFiles();
    int partitions = tasks[tasks.length - 1] + 1;
    return rows.repartition(partitions, scope.call(new PositionFunctions.Route(tasksOfFiles, hashedTo(partitions), placesOfFile), destination));
  }

  /** By partition, a number that Spark's hash partitioning sends there: {@code floorMod(murmur3(number, 42), n)} on every line. */
  // Spark's range partitioning would read the input a second time to find what the sample has already shown.
  static int[] hashedTo(int partitions) {
    int[] numbers = new int[partitions];
    boolean[] found = new boolean[partitions];
    int missing = partitions;
    for (int candidate = 0; missing > 0; candidate++) {
      int partition = Math.floorMod(Murmur3_x86_32.hashInt(candidate, SPARK_SEED), partitions);
      if (!found[partition]) {
        found[partition] = true;
        numbers[partition] = candidate;
        missing--;
      }
    }
    return numbers;
  }

  /** Adds a column under a name that no other has; returns a reference to it. */
  private static Column added(List<Column> columns, Column column) {
    String name = SessionCatalog.uniqueName();
    columns.add(column.as(name));
    return functions.col(name);
  }

  private static Column directed(Column column, PrefixOrder order) {
    if (order.descending()) {
      return order.nullsFirst() ? column.desc_nulls_first() : column.desc_nulls_last();
    }
    return order.nullsFirst() ? column.asc_nulls_first() : column.asc_nulls_last();
  }

  /** The positions of a row in all columns of its group's layout, side by side. */
  private Column packed() {
    List<ClusteringColumn> all = order.all();
    Column packed = null;
    for (int ordinal = 0; ordinal < all.size(); ordinal++) {
      List<Optional<LayoutColumn>> layouts = layouts(ordinal);
      // One column at least: Spark finds what depends on none without asking the task whose rows it has.
      boolean isLastChance = packed == null && ordinal == all.size() - 1;
      if (isLastChance || layouts.stream().anyMatch(Optional::isPresent)) {
        Column position = position(ordinal, layouts);
        packed = packed == null ? position : packed.bitwiseOR(position);
      }
    }
    return packed;
  }

  private List<Optional<LayoutColumn>> layouts(int ordinal) {
    return job.groups().stream()
        .map(group -> group.layout().columns().stream().filter(each -> each.ordinal() == ordinal).findFirst())
        .toList();
  }

  private Column position(int ordinal, List<Optional<LayoutColumn>> layouts) {
    Column value = order.value(ordinal, scope);
    return PositionFunctions.packed(order.all().get(ordinal), order.type(ordinal), value, layouts, groupsOfPartitions, scope);
  }
}
