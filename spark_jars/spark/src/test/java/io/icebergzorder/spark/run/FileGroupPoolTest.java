package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

/** Which jobs run together, and what becomes of the groups of a job, once they are rewritten. */
class FileGroupPoolTest {
  @Test
  void groupsThatAreNotTakenAreAborted() {
    List<RewriteFileGroup> groups = IntStream.rangeClosed(1, 4).mapToObj(FileGroupPoolTest::group).toList();
    List<RewriteFileGroup> aborted = new ArrayList<>();
    assertThrows(IllegalStateException.class, () -> FileGroupPool.handOn(groups, FileGroupPoolTest::takeTheFirst, aborted::addAll));
    assertEquals(groups.subList(1, 4), aborted);
  }

  @Test
  void jobsRunTogetherWhileThereIsRoom() throws Exception {
    FileGroupPool.Room room = new FileGroupPool.Room(10);
    room.enter(6);
    room.enter(4);
    CompletableFuture<Void> third = CompletableFuture.runAsync(() -> assertDoesNotThrow(() -> room.enter(5)));
    room.leave(4);
    assertThrows(TimeoutException.class, () -> third.get(200, TimeUnit.MILLISECONDS));
    room.leave(6);
    third.get(10, TimeUnit.SECONDS);
    room.leave(5);
    // One that is larger runs alone.
    room.enter(11);
    CompletableFuture<Void> small = CompletableFuture.runAsync(() -> assertDoesNotThrow(() -> room.enter(1)));
    assertThrows(TimeoutException.class, () -> small.get(200, TimeUnit.MILLISECONDS));
    room.leave(11);
    small.get(10, TimeUnit.SECONDS);
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
