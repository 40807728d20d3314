package io.icebergzorder.core.upkeep;

/**
 * How large regions are.
 *
 * @param bound above so many bytes a part is cut, at least 1
 * @param least each half of a clean cut has so many bytes at least, 1 or more
 * @param isAcross whether parts above the bound that no clean cut divides are cut all the same, whatever it costs
 */
public record RegionSizes(long bound, long least, boolean isAcross) {
  /** The same for larger regions. */
  RegionSizes of(long larger) {
    return new RegionSizes(larger, least, isAcross);
  }
}
