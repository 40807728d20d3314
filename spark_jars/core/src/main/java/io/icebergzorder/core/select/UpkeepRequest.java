package io.icebergzorder.core.select;

import io.icebergzorder.core.Beginning;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.QueryBoxes;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.core.metrics.FileSizes;
import io.icebergzorder.core.workload.PositionBoxes;
import java.util.List;
import java.util.Optional;

/**
 * The rules for choosing the files of a partition. The array is not copied.
 *
 * @param maxScanRatio sets of files are scored if filters cost more than so many times the attainable cost; at least 1
 * @param spareFiles and more than so many open costs above the attainable cost; at least 0
 * @param layout the request for layouts; its number of files is not used
 * @param kept by column, what new lower/upper bounds keep of a key of bytes; not used for longs
 * @param weights by column, its weight in averages, at least 0; 0 if new files get no bounds
 * @param openCost the cost of opening a file, in bytes
 * @param workload the queries that files are judged by; empty for filters {@code column = value}
 */
public record UpkeepRequest(
    double maxScanRatio,
    int spareFiles,
    FileSizes sizes,
    LayoutRequest layout,
    List<Beginning> kept,
    double[] weights,
    long openCost,
    Optional<AskedQueries> workload) {
  /** A column may cost so much more than is attainable, in parts of what the average may. */
  private static final double COLUMN_SHARE = 1.5;

  /**
   * The queries of a workload that concern one partition.
   *
   * @param queries the queries that may match its rows
   * @param weight the total weight of all queries
   * @param share the share of all queries that the workload represents, in [0, 1]
   */
  public record AskedQueries(List<PositionBoxes.Query> queries, double weight, double share) {
    /** The boxes of the queries in the positions of a layout. */
    public QueryBoxes boxesIn(Layout layout) {
      return PositionBoxes.of(queries, layout.columns());
    }
  }

  /** 1.5 times the size: at the full target it makes as many files as the size does at 2/3 of the target. */
  public static long sizeForSmallerTarget(long size) {
    return 3 * size / 2;
  }

  /** The cost up to which no set of files is scored, given the attainable cost. */
  public double limit(double attainable) {
    return Math.max(maxScanRatio * attainable, attainable + (double) (spareFiles * openCost));
  }

  /** The limit for filters on one column: it may be 1.5 times as far above its best as the average may. */
  public double columnLimit(double attainable) {
    return attainable + COLUMN_SHARE * (limit(attainable) - attainable);
  }

  /** Whether a workload judges files; each column with values then needs bounds in at least one file. */
  public boolean goesByQueries(BoundedFiles files) {
    return workload.isPresent() && files.columns().stream().noneMatch(ColumnBounds::isOpen);
  }
}
