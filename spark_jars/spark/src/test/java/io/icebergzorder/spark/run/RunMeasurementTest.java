package io.icebergzorder.spark.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class RunMeasurementTest {
  @Test
  void fractionsAreWrittenAsPythonWritesThem() {
    assertEquals("0.333333", RunMeasurement.text(1 / 3.0));
    assertEquals("1", RunMeasurement.text(1));
    assertEquals("0", RunMeasurement.text(0));
    assertEquals("0.5", RunMeasurement.text(0.5));
    assertEquals("0.000001", RunMeasurement.text(0.00000123));
    assertEquals("1", RunMeasurement.text(0.99999999));
  }
}
