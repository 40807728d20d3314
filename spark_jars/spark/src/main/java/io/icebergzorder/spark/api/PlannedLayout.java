package io.icebergzorder.spark.api;

import io.icebergzorder.core.Layout;
import java.util.Map;

/** The layout of a file group, which sends each row to its file, and the predicted scan fractions. */
public final class PlannedLayout {
  private final Layout layout;
  private final Map<String, Double> scanFractions;
  private final Map<String, Double> scanFractionsBefore;

  PlannedLayout(Layout layout, Map<String, Double> scanFractions, Map<String, Double> scanFractionsBefore) {
    this.layout = layout;
    this.scanFractions = scanFractions;
    this.scanFractionsBefore = scanFractionsBefore;
  }

  /** The curve that orders the rows: {@code zorder} or {@code hilbert}. */
  public String curve() {
    return layout.curve().label();
  }

  /** The number of files. */
  public int files() {
    return layout.files();
  }

  /**
   * By column name, the predicted scan fraction of {@code column = value}: the share of the group's new files, in bytes, whose
   * lower/upper bounds will not rule it out, on average over the values of the rows. In [0, 1]; a column without a value is left out.
   */
  public Map<String, Double> scanFractions() {
    return scanFractions;
  }

  /** By column name, the scan fraction among the group's current files, for values of the same rows. */
  public Map<String, Double> scanFractionsBefore() {
    return scanFractionsBefore;
  }

  /** The layout hash, 64 lower-case hex digits. */
  public String hash() {
    return layout.hash();
  }

  /** The layout as canonical JSON, which both engines write alike. */
  public String toJson() {
    return layout.toJson();
  }
}
