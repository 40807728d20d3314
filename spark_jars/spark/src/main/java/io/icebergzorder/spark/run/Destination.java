package io.icebergzorder.spark.run;

import io.icebergzorder.core.Placement;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/** The destination of the rows of a file group: the file of the job, and the place among the rows of its task. */
public record Destination(Placement placement, int firstFile, int filesPerTask, int indexBits) implements Serializable {
  private static final int BITS_OF_LONG = 63;

  public static List<Destination> of(GroupJob job) {
    int indexBits = job.groups().stream().mapToInt(each -> each.layout().bits() * each.layout().columns().size()).max().orElse(0);
    int[] firstFiles = job.firstFiles();
    List<Destination> destinations = new ArrayList<>();
    for (int group = 0; group < firstFiles.length; group++) {
      Placement placement = job.groups().get(group).layout().placement();
      destinations.add(new Destination(placement, firstFiles[group], job.filesPerTask(), indexBits));
    }
    return destinations;
  }

  /** Whether {@link #place} tells the files of a task apart: the number of a file there needs bits that an index leaves. */
  public boolean hasFilesInPlaces() {
    return Integer.SIZE - Integer.numberOfLeadingZeros(filesPerTask - 1) <= BITS_OF_LONG - indexBits;
  }

  public int file(long packed, long tieBreaker) {
    return firstFile + placement.file(packed, tieBreaker);
  }

  /** The place of a row among those of its task: file by file, if there is room for that, and by the index in each. */
  public long place(long packed, int file) {
    long index = placement.index(packed, file - firstFile);
    return hasFilesInPlaces() ? (long) ((file - firstFile) % filesPerTask) << indexBits | index : index;
  }
}
