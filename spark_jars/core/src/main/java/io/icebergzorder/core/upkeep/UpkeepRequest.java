package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.LayoutRequest;
import java.util.List;
import java.util.function.LongToIntFunction;
import java.util.function.UnaryOperator;

/**
 * How files are chosen.
 *
 * @param maxScanRatio so many times the attainable scan fraction is left alone, at least 1
 * @param expectedFiles from bytes to the number of files that they are written to
 * @param finerFiles the same where they are a small part of a partition, and chosen for what they gain: not fewer
 * @param layout what is asked of layouts, but for the number of files
 * @param kept for each column, what new lower/upper bounds keep of a key of bytes; not called for longs
 * @param weights for each column, what it counts in averages, 0 or more: 0 where new files get no bounds. Not copied
 */
public record UpkeepRequest(
    double maxScanRatio,
    LongToIntFunction expectedFiles,
    LongToIntFunction finerFiles,
    LayoutRequest layout,
    List<UnaryOperator<byte[]>> kept,
    double[] weights) {
  /** Takes a copy of the list. */
  public UpkeepRequest {
    kept = List.copyOf(kept);
  }

  /** The same for files that are a small part of a partition, and chosen for what they gain. */
  public UpkeepRequest finer() {
    return new UpkeepRequest(maxScanRatio, finerFiles, finerFiles, layout, kept, weights);
  }
}
