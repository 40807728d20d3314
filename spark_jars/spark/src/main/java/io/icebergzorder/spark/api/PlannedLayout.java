package io.icebergzorder.spark.api;

import io.icebergzorder.spark.layout.SampledGroup;
import java.util.Map;

/** The layout of a file group, which sends each row to its file, and the predicted scan fractions. */
public final class PlannedLayout {
  private final SampledGroup group;

  PlannedLayout(SampledGroup group) {
    this.group = group;
  }

  /** The curve that orders the rows: {@code zorder} or {@code hilbert}. */
  public String curve() {
    return group.layout().curve().label();
  }

  /** The number of files. */
  public int files() {
    return group.layout().files();
  }

  /**
   * By column name, the predicted scan fraction of {@code column = value}: the share of the group's new files, in bytes, whose
   * lower/upper bounds will not rule it out, on average over the values of the rows. In [0, 1]; a column without a value is left out.
   */
  public Map<String, Double> scanFractions() {
    return group.predicted().fractions();
  }

  /** By column name, the scan fraction among the group's current files, for values of the same rows. */
  public Map<String, Double> scanFractionsBefore() {
    return group.before().fractions();
  }

  /** The layout hash, 64 lower-case hex digits. */
  public String hash() {
    return group.layout().hash();
  }

  /** The layout as canonical JSON, which both engines write alike. */
  public String toJson() {
    return group.layout().toJson();
  }
}
