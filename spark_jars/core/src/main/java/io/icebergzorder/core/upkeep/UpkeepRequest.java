package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import java.util.List;
import java.util.Optional;
import java.util.function.LongToIntFunction;
import java.util.function.UnaryOperator;

/**
 * How files are chosen.
 *
 * @param maxScanRatio so many times the attainable scan fraction is left alone, at least 1
 * @param expectedFiles from bytes to the number of files that they are written to
 * @param layout what is asked of layouts, but for the number of files
 * @param kept for each column, what new lower/upper bounds keep of a key of bytes; not called for longs
 * @param weights for each column, what it counts in averages, 0 or more: 0 where new files get no bounds. Not copied
 * @param queries by what files are judged; by equality with values of the columns without
 */
public record UpkeepRequest(
    double maxScanRatio,
    LongToIntFunction expectedFiles,
    LayoutRequest layout,
    List<UnaryOperator<byte[]>> kept,
    double[] weights,
    Optional<AskedQueries> queries) {
  /** Takes a copy of the list. */
  public UpkeepRequest {
    kept = List.copyOf(kept);
  }

  /** Bytes that are written to as many files of the usual size as so many are to files of two thirds of it. */
  public static long finer(long size) {
    return 3 * size / 2;
  }

  /** Whether files are judged by queries: not where no file has bounds of a column. */
  public boolean goesByQueries(DataFiles files) {
    return queries.isPresent() && files.columns().stream().noneMatch(ColumnBounds::isOpen);
  }
}
