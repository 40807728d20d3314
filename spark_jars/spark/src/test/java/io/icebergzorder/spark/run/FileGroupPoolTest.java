package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

/** What becomes of the groups of a job, once they are rewritten. */
class FileGroupPoolTest {
  @Test
  void groupsThatAreNotTakenAreAborted() {
    List<RewriteFileGroup> groups = IntStream.rangeClosed(1, 4).mapToObj(FileGroupPoolTest::group).toList();
    Outcomes outcomes = new Outcomes();
    assertThrows(IllegalStateException.class, () -> outcomes.done(groups));
    assertEquals(groups.subList(0, 1), outcomes.taken);
    assertEquals(groups.subList(1, 4), outcomes.aborted);
  }

  /** Takes the first group, and fails on the second. */
  private static final class Outcomes implements FileGroupPool.Outcomes {
    private final List<RewriteFileGroup> taken = new ArrayList<>();
    private final List<RewriteFileGroup> aborted = new ArrayList<>();

    @Override
    public void done(RewriteFileGroup group) {
      if (!taken.isEmpty()) {
        throw new IllegalStateException("Full");
      }
      taken.add(group);
    }

    @Override
    public void abort(Collection<RewriteFileGroup> groups) {
      aborted.addAll(groups);
    }

    @Override
    public void failed(RewriteFileGroup group, Throwable failure) {}

    @Override
    public boolean stopOnFailure() {
      return true;
    }
  }

  private static RewriteFileGroup group(int index) {
    var info =
        ImmutableRewriteDataFiles.FileGroupInfo.builder()
            .globalIndex(index)
            .partitionIndex(index)
            .partition(GenericRecord.create(Types.StructType.of()))
            .build();
    return new RewriteFileGroup(info, List.of(), 0, 1, 1, 1);
  }
}
