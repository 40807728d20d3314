package io.icebergzorder.core.upkeep;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;

/** Says what a file group was cut into, and why, or why not, in the words of Python's {@code upkeep/region_messages.py}. */
public final class RegionMessages {
  private static final String OPTION = "max-file-group-size-bytes";

  /** So many times the bytes of data files are shuffled, as measured. */
  private static final long DISK = 4;

  private static final int PERCENT = 100;

  private RegionMessages() {}

  /** Says of a region what divides it from the others, and what the cuts cost. */
  public static String part(int number, long bound, Regions of) {
    boolean isClean = of.regions().get(number - 1).isClean();
    String where = isClean ? "where no file lies" : String.format(Locale.ROOT, "across files for %s %,d", OPTION, bound);
    return String.format(
        Locale.ROOT,
        "; part %,d of %,d, cut %s: scan fraction of the parts expected to be %s, in one file group %s",
        number, of.regions().size(), where, percent(of.expected().getAsDouble()), percent(of.inOne().getAsDouble()));
  }

  /**
   * Says why a file group was not cut.
   *
   * @param size its bytes
   * @param bound above so many bytes it was to be cut
   * @param of its only region
   * @param hasBounds whether there are columns to cut in
   * @return the reason, and what one job will take if there are more bytes; empty if there is nothing to say
   */
  public static String inOne(long size, long bound, Regions of, boolean hasBounds) {
    boolean isTooMuch = of.expected().isPresent();
    if (size <= bound && !isTooMuch) {
      return "";
    }
    String why =
        isTooMuch
            ? String.format(
                "scan fraction of parts is expected to be %s, in one file group %s",
                percent(of.expected().getAsDouble()), percent(of.inOne().getAsDouble()))
            : hasBounds ? "every place to cut lies inside files" : "new files keep no bounds to cut by";
    return size <= bound
        ? "; in one file group, because " + why
        : String.format(
            Locale.ROOT,
            "; in one file group, whatever %s %,d, because %s: its job takes some %,d bytes of local disk",
            OPTION, bound, why, DISK * size);
  }

  /** Rounds as Python does, which takes a number for what it is, and not for the shortest decimal that stands for it. */
  private static String percent(double fraction) {
    return new BigDecimal(PERCENT * fraction).setScale(1, RoundingMode.HALF_EVEN).toPlainString() + "%";
  }
}
