package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
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
    List<RewriteFileGroup> aborted = new ArrayList<>();
    var outcomes = new FileGroupPool.Outcomes(FileGroupPoolTest::takeTheFirst, (group, failure) -> {}, aborted::addAll, true);
    assertThrows(IllegalStateException.class, () -> outcomes.take(groups));
    assertEquals(groups.subList(1, 4), aborted);
  }

  private static void takeTheFirst(RewriteFileGroup group) {
    if (group.info().globalIndex() > 1) {
      throw new IllegalStateException("Full");
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
