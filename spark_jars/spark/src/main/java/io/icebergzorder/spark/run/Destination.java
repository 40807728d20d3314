package io.icebergzorder.spark.run;

import io.icebergzorder.core.Placement;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * The destination of the rows of a file group: the file of the job, and the place in the file.
 *
 * @param placesOfFile bits of a place in a file; those of the index that do not fit beside the file's number are dropped
 */
public record Destination(Placement placement, int firstFile, int placesOfFile, int dropped) implements Serializable {
  private static final int BITS_OF_LONG = 63;

  public static List<Destination> of(GroupJob job) {
    int indexBits = job.groups().stream().mapToInt(each -> each.layout().bits() * each.layout().columns().size()).max().orElse(0);
    int fileBits = Integer.SIZE - Integer.numberOfLeadingZeros(job.tasksOfFiles().length - 1);
    int placesOfFile = Math.min(indexBits, BITS_OF_LONG - fileBits);
    int[] firstFiles = job.firstFiles();
    List<Destination> destinations = new ArrayList<>();
    for (int group = 0; group < firstFiles.length; group++) {
      Placement placement = job.groups().get(group).layout().placement();
      destinations.add(new Destination(placement, firstFiles[group], placesOfFile, indexBits - placesOfFile));
    }
    return destinations;
  }

  /** The number of a row's file in the job, and in the lower bits its place there. */
  public long of(long packed, long tieBreaker) {
    int file = placement.file(packed, tieBreaker);
    return (long) (firstFile + file) << placesOfFile | placement.index(packed, file) >>> dropped;
  }
}
