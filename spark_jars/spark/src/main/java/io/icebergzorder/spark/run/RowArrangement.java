package io.icebergzorder.spark.run;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Layout.LayoutColumn;
import io.icebergzorder.core.SortOrder.PrefixOrder;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.SessionCatalog;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.run.PositionFunctions.Destination;
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
  private final List<Destination> destinations;

  RowArrangement(ResolvedSortOrder order, GroupJob job, int[] groupsOfPartitions, FunctionScope scope) {
    this.order = order;
    this.job = job;
    this.scope = scope;
    this.groupsOfPartitions = groupsOfPartitions;
    this.tasksOfFiles = scope.share(job.tasksOfFiles());
    this.destinations = Destination.of(job);
  }

  /**
   * Rows in order, with so many columns of the table.
   *
   * @param hasFiles whether the next column has the destination of a row; otherwise each task has one file
   * @param placesOfFile the lower bits of a destination that do not belong to the number of the file
   */
  record Arranged(Dataset<Row> rows, int columns, boolean hasFiles, int placesOfFile, Shared<int[]> tasksOfFiles) {}

  Arranged of(Dataset<Row> rows) {
    return job.isInPlace() ? inPlace(rows) : routed(rows);
  }

  /** Each task reads a group of one partition of the table, whose fields have one value each, and writes all of its files. */
  private Arranged inPlace(Dataset<Row> rows) {
    int leading = order.partition().size();
    if (job.filesPerTask() == 1 && leading == order.leadingOrders().size()) {
      // A sort by one long evaluates it once for each row, and groups of one file have no ties to break.
      return arranged(rows.sortWithinPartitions(destination(false)), rows, false);
    }
    Keyed keyed = new Keyed(rows, leading);
    return arranged(keyed.rows.sortWithinPartitions(keyed.key.toArray(Column[]::new)), rows, job.filesPerTask() > 1);
  }

  /** Each row goes to the task that writes its file. */
  private Arranged routed(Dataset<Row> rows) {
    boolean spansPartitions = job.groups().stream().anyMatch(group -> group.group().spansPartitions());
    Keyed keyed = new Keyed(rows, spansPartitions ? 0 : order.partition().size());
    int[] tasks = job.tasksOfFiles();
    int partitions = tasks[tasks.length - 1] + 1;
    PositionFunctions.Route route = new PositionFunctions.Route(tasksOfFiles, hashedTo(partitions), placesOfFile());
    Dataset<Row> routed = keyed.rows.repartition(partitions, scope.call(route, keyed.destination));
    return arranged(routed.sortWithinPartitions(keyed.key.toArray(Column[]::new)), rows, true);
  }

  private Arranged arranged(Dataset<Row> sorted, Dataset<Row> rows, boolean hasFiles) {
    return new Arranged(sorted, rows.columns().length, hasFiles, placesOfFile(), tasksOfFiles);
  }

  private int placesOfFile() {
    return destinations.get(0).placesOfFile();
  }

  /** Rows with the columns that they are routed and sorted by, which no column of the table has the names of. */
  private final class Keyed {
    private final List<Column> columns = new ArrayList<>();
    private final List<Column> key = new ArrayList<>();
    private final Column destination;
    private final Dataset<Row> rows;

    /** Adds the destination, and the columns before the curve that rows are sorted by, from one of them on. */
    Keyed(Dataset<Row> of, int leading) {
      boolean hasTies = destinations.stream().anyMatch(each -> each.placement().needsTieBreakers());
      Arrays.stream(of.columns()).map(name -> of.col(SparkInternals.quoted(name))).forEach(columns::add);
      destination = added(destination(hasTies));
      if (job.filesPerTask() > 1 && leading < order.leadingOrders().size()) {
        key.add(functions.shiftright(destination, placesOfFile()));
      }
      for (int ordinal = leading; ordinal < order.leadingOrders().size(); ordinal++) {
        Column value = order.value(ordinal, scope);
        // Iceberg's writer has one file open at a time: the rows of a partition must come one after the other.
        key.add(directed(ordinal < order.partition().size() ? added(value) : value, order.leadingOrders().get(ordinal)));
      }
      key.add(destination);
      rows = (hasTies ? SparkInternals.withFileAndPosition(of) : of).select(columns.toArray(Column[]::new));
    }

    /** Adds a column under a name that no other has; returns a reference to it. */
    private Column added(Column column) {
      String name = SessionCatalog.uniqueName();
      columns.add(column.as(name));
      return functions.col(name);
    }
  }

  /** The destination of a row. Rows that are alike in every clustering column are told apart by where they came from. */
  private Column destination(boolean hasTies) {
    Column tieBreaker = hasTies ? functions.xxhash64(functions.col("_file"), functions.col("_pos")) : functions.lit(0L);
    Shared<Destination> shared = scope.share(destinations, groupsOfPartitions);
    return scope.call(new PositionFunctions.RowDestination(shared), packed(), tieBreaker);
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
