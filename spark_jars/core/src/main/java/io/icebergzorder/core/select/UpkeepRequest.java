package io.icebergzorder.core.select;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.QueryBoxes;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.core.workload.PositionBoxes;
import java.util.List;
import java.util.Optional;
import java.util.function.LongToIntFunction;
import java.util.function.UnaryOperator;

/**
 * The settings by which the files of a partition are chosen. The array is not copied.
 *
 * @param maxScanRatio so many times the attainable cost is left alone, at least 1
 * @param spareFiles so many files more may be opened than that, at least 0
 * @param expectedFiles from bytes to the number of files that they are written to
 * @param layout what is asked of layouts, but for the number of files
 * @param kept by column, what new lower/upper bounds keep of a key of bytes; not called for longs
 * @param weights by column, what it counts in averages, 0 or more: 0 where new files get no bounds
 * @param openCost bytes that opening a file costs
 * @param lossFactor so many times counts what a column loses
 * @param workload by what files are judged, if not by filters {@code column = value}
 */
public record UpkeepRequest(
    double maxScanRatio,
    int spareFiles,
    LongToIntFunction expectedFiles,
    LayoutRequest layout,
    List<UnaryOperator<byte[]>> kept,
    double[] weights,
    long openCost,
    double lossFactor,
    Optional<AskedQueries> workload) {
  /**
   * The queries of a workload as they are asked of one partition.
   *
   * @param queries those that may find rows in it
   * @param weight of all queries, which are averaged over
   * @param share of the queries that the workload knows, in [0, 1]
   */
  public record AskedQueries(List<PositionBoxes.Query> queries, double weight, double share) {
    /** What they ask for in the positions of a layout. */
    public QueryBoxes boxesIn(Layout layout) {
      return PositionBoxes.of(queries, layout.columns());
    }
  }

  /** Bytes that are written to as many files of the usual size as so many are to files of two thirds of it. */
  public static long sizeForSmallerTarget(long size) {
    return 3 * size / 2;
  }

  /** The cost that is left alone, given the attainable one. */
  public double limit(double attainable) {
    return Math.max(maxScanRatio * attainable, attainable + (double) (spareFiles * openCost));
  }

  /** Whether files are judged by queries: not where no file has bounds of a column. */
  public boolean goesByQueries(BoundedFiles files) {
    return workload.isPresent() && files.columns().stream().noneMatch(ColumnBounds::isOpen);
  }
}
