package io.icebergzorder.spark.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.icebergzorder.spark.internals.Failures.FailureStreak;
import java.io.IOException;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Which failures in a row are taken for a failure of everything. */
class FailureStreakTest {
  private final FailureStreak streak = new FailureStreak();

  @Test
  void tenThatAreAlikeAndItStaysSo() {
    fail(10, () -> new RuntimeException(new IOException("403")));
    assertTrue(streak.isOver());
    streak.done();
    streak.failed(new IllegalStateException());
    assertTrue(streak.isOver());
    assertEquals("Not tried, because 10 file groups in a row failed alike", streak.why().getMessage());
  }

  @Test
  void noFewer() {
    fail(9, IOException::new);
    streak.done();
    fail(9, IOException::new);
    assertFalse(streak.isOver());
  }

  @Test
  void noneThatDiffer() {
    fail(9, IOException::new);
    fail(9, () -> new IOException(new IllegalStateException()));
    assertFalse(streak.isOver());
  }

  private void fail(int times, Supplier<Exception> failure) {
    for (int i = 0; i < times; i++) {
      streak.failed(failure.get());
    }
  }
}
