package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.report.DataFiles;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/**
 * What a file group is cut into: regions, each of which is rewritten by itself.
 *
 * <p>A clean cut is a place in a column that no file's bounds span, with files on both sides of it: the rewritten halves overlap nowhere
 * in that column. A part is cut at the clean cut that halves its bytes best, and its halves again.
 *
 * <p>A layout of all rows shares its cuts among the columns. So that layouts of regions do so together, a column weighs less where its
 * region has but a part of all values, for the cut between regions has narrowed it already. What is left of the price is predicted from
 * the bounds.
 *
 * @param regions the regions, at least one: each file is in one of them
 * @param expected average scan fraction of the files that is expected of a rewrite of the regions, in [0, 1]; of one region it is of what
 *     was not cut because it would cost too much. Empty where nothing can be cut
 * @param inOne the same of a rewrite of all files together
 */
public record Regions(List<Region> regions, OptionalDouble expected, OptionalDouble inOne) {
  private static final long COARSER = 4;

  /** Takes a copy of the list. */
  public Regions {
    regions = List.copyOf(regions);
  }

  /**
   * Cuts a file group into regions.
   *
   * @param files its files, at least one
   * @param rows how many rows to judge by, see {@link Gain#rowsToSpread}
   * @param sizes how large regions are
   * @param request how files are written; and so many times what is expected of a rewrite in one the regions may scan, unless they are cut
   *     whatever it costs. Columns of which new files get no bounds are not cut in
   * @return the regions in their order along the cuts; if they would cost too much, they are larger, or one
   */
  public static Regions cut(DataFiles files, int rows, RegionSizes sizes, UpkeepRequest request) {
    RegionCutter cutter = new RegionCutter(files, request);
    List<Region> found = cutter.cut(sizes);
    if (found.size() == 1) {
      return new Regions(found, OptionalDouble.empty(), OptionalDouble.empty());
    }
    PartitionRows partition = PartitionRows.of(files, rows, request, null);
    // What stays a region when others become larger is predicted once: of the same files it has the same spans.
    Map<IntBuffer, Double> known = new HashMap<>();
    ToDoubleFunction<Region> price =
        region -> known.computeIfAbsent(IntBuffer.wrap(region.files()), key -> cost(partition, files, region, request));
    double whole = expected(files, List.of(cutter.whole()), price);
    RegionSizes larger = sizes;
    while (true) {
      found = found.stream().map(region -> region.with(partition.spans(region.files()))).toList();
      double expected = expected(files, found, price);
      if (sizes.isAcross() || expected <= request.maxScanRatio() * whole) {
        return new Regions(found, OptionalDouble.of(expected), OptionalDouble.of(whole));
      }
      larger = larger.of(COARSER * larger.bound());
      found = cutter.cut(larger);
      if (found.size() == 1) {
        return new Regions(found, OptionalDouble.of(expected), OptionalDouble.of(whole));
      }
    }
  }

  private static double expected(DataFiles files, List<Region> regions, ToDoubleFunction<Region> price) {
    double cost = 0;
    for (Region region : regions) {
      cost += price.applyAsDouble(region);
    }
    return cost / Math.max(1, files.bytes());
  }

  /** What the files of a region cost once they are rewritten. */
  private static double cost(PartitionRows partition, DataFiles files, Region region, UpkeepRequest request) {
    long size = Arrays.stream(region.files()).mapToLong(file -> files.sizes()[file]).sum();
    int count = request.expectedFiles().applyAsInt(size);
    int prefix = request.layout().leadingOrders().size();
    return partition.rewritten(region.files(), count, narrowed(request.layout(), region.spans(), prefix)).cost();
  }

  /**
   * Has a layout weigh its columns by what share of all values there is between them.
   *
   * @param layout what is asked of a layout of everything
   * @param spans for each named column, as {@link Region} has them; empty for all columns alike
   * @param prefix how many of them are sorted by before the curve: those are split before all others, whatever they weigh
   */
  public static LayoutRequest narrowed(LayoutRequest layout, double[] spans, int prefix) {
    if (spans.length == 0) {
      return layout;
    }
    double[] weights = Arrays.copyOfRange(spans, prefix, spans.length);
    for (int place = 0; place < weights.length; place++) {
      weights[place] *= layout.weights().length == 0 ? 1 : layout.weights()[place];
    }
    return layout.weighing(weights);
  }
}
