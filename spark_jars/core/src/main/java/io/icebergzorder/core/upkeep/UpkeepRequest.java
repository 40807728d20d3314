package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.report.DataFiles;
import java.util.List;
import java.util.Optional;
import java.util.function.LongToIntFunction;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * How files are chosen.
 *
 * @param maxScanRatio so many times the attainable scan fraction is left alone, at least 1
 * @param expectedFiles from bytes to the number of files that they are written to
 * @param finerFiles the same where they are a small part of a partition, and chosen for what they gain: not fewer
 * @param layout what is asked of layouts, but for the number of files
 * @param kept for each column, what new lower/upper bounds keep of a key of bytes; not called for longs
 * @param weights for each column, what it counts in averages, 0 or more: 0 where new files get no bounds. Not copied
 * @param queries by what files are judged; by equality with values of the columns without
 */
public record UpkeepRequest(
    double maxScanRatio,
    LongToIntFunction expectedFiles,
    LongToIntFunction finerFiles,
    LayoutRequest layout,
    List<UnaryOperator<byte[]>> kept,
    double[] weights,
    Optional<AskedQueries> queries) {
  private static final long PART_OF_QUERIES = 2;

  /** Takes a copy of the list. */
  public UpkeepRequest {
    kept = List.copyOf(kept);
  }

  /** The same, with other queries to judge by. */
  public UpkeepRequest asking(Optional<AskedQueries> others) {
    return new UpkeepRequest(maxScanRatio, expectedFiles, finerFiles, layout, kept, weights, others);
  }

  /**
   * Whether files of a partition that are chosen for what they gain are written to more files than usual. Files that are cut for queries
   * are smaller where these are: of less than half of a partition they stay so.
   */
  boolean isFiner(long size, long partition) {
    return queries.isEmpty() ? Gain.isSmallPart(size, partition) : PART_OF_QUERIES * size < partition;
  }

  /**
   * Whether files are judged by queries, and not by equality. What the queries want is nowhere among the values of a column of which no
   * file has bounds.
   */
  public boolean goesByQueries(DataFiles files) {
    return queries.isPresent()
        && IntStream.range(0, weights.length).noneMatch(place -> weights[place] > 0 && files.columns().get(place).isOpen());
  }
}
