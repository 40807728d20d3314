package io.icebergzorder.core.metrics;

/**
 * The size limits of a rewrite, and how many files it writes.
 *
 * @param target the target size of new files, in bytes
 * @param least the size from which on files are left, in bytes
 * @param most the size up to which files are left, in bytes
 * @param compressionFactor bytes of new files for each byte of their input, above 0
 */
public record FileSizes(long target, long least, long most, double compressionFactor) {
  /** An average file may be so much larger than the target, for the sake of a small remainder. */
  private static final double NEARLY_TARGET = 1.1;

  /** How many files are written of so many bytes, at least 1, as Iceberg counts them: a small remainder is spread over the other files. */
  public int expectedFiles(long size) {
    long scaled = (long) (size * compressionFactor);
    if (scaled < target) {
      return 1;
    }
    long whole = scaled / target;
    long remainder = scaled % target;
    long largestPlanned = (long) (target + (most - target) * 0.5);
    boolean isSpread = remainder <= least && scaled / whole < Math.min(NEARLY_TARGET * target, largestPlanned);
    return Math.toIntExact(isSpread || remainder == 0 ? whole : whole + 1);
  }
}
