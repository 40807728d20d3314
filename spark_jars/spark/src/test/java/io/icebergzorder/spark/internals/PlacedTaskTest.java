package io.icebergzorder.spark.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.icebergzorder.spark.WholeFile;
import io.icebergzorder.spark.internals.UnsplitTask.PlacedTask;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.util.TableScanUtil;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

/** Iceberg puts together what is placed together, in the same order. */
class PlacedTaskTest {
  @RepeatedTest(50)
  void partitionsAreThoseThatWerePlanned(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    List<List<FileScanTask>> partitions = new ArrayList<>();
    for (int partition = 0; partition < 1 + random.nextInt(30); partition++) {
      List<FileScanTask> tasks = new ArrayList<>();
      for (int i = 0; i < 1 + random.nextInt(repetition.getCurrentRepetition()); i++) {
        tasks.add(new WholeFile(partition + "/" + i + ".parquet", 1 + random.nextInt(1_000_000), 1));
      }
      partitions.add(tasks);
    }

    List<List<FileScanTask>> planned = new ArrayList<>();
    TableScanUtil.planTaskGroups(PlacedTask.of(partitions), PlacedTask.weight(partitions), 1, 0)
        .forEach(group -> planned.add(group.tasks().stream().map(task -> ((PlacedTask) task).task()).toList()));
    assertEquals(partitions, planned);
  }

  @Test
  void aTaskOfAnotherPartitionIsRefusedItsFile() {
    List<FileScanTask> placed =
        PlacedTask.of(List.of(List.of(new WholeFile("first.parquet", 1, 1)), List.of(new WholeFile("second.parquet", 1, 1))));
    // The driver may ask for any file.
    assertEquals("second.parquet", placed.get(1).file().location());
    assertEquals("second.parquet", ((PlacedTask) placed.get(1)).fileIn(1).location());
    assertThrows(IllegalStateException.class, () -> ((PlacedTask) placed.get(1)).fileIn(0));
  }
}
