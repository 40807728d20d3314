package io.icebergzorder.spark.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.icebergzorder.spark.spec.RewriteOptions.PartialProgress;
import org.junit.jupiter.api.Test;

class PartialProgressTest {
  @Test
  void fileGroupsTakeNoMoreCommitsThanAreAllowed() {
    assertEquals(3, new PartialProgress(3, 0).groupsPerCommit(7));
    assertEquals(1, new PartialProgress(10, 0).groupsPerCommit(2));
    assertEquals(2, new PartialProgress(2, 0).groupsPerCommit(4));
  }
}
