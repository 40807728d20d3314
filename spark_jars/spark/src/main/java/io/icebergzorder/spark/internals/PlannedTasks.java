package io.icebergzorder.spark.internals;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import org.apache.iceberg.BatchScan;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;

/** The files that Iceberg's scan for Spark has planned, by its private methods. */
public final class PlannedTasks {
  private static final String OWNER = "org.apache.iceberg.spark.source.SparkPartitioningAwareScan";

  private PlannedTasks() {}

  /** Whether a scan plans the files that it reads once, and then reads these. */
  public static boolean plans(Scan scan) {
    for (Class<?> each = scan.getClass(); each != null; each = each.getSuperclass()) {
      if (each.getName().equals(OWNER)) {
        return true;
      }
    }
    return false;
  }

  /** Iceberg's own scan of a snapshot; null if Spark's scan reads none, or several. */
  public static BatchScan scan(Scan scan) {
    return call(scan, "scan") instanceof BatchScan batch ? batch : null;
  }

  /** The files to read, one task each; Iceberg reads manifests at the first call. */
  public static List<?> tasks(Scan scan) {
    return (List<?>) call(scan, "tasks");
  }

  /** A batch of some of the tasks; the scan remains as it was. */
  public static Batch batch(Scan scan, List<?> some) {
    List<?> all = tasks(scan);
    call(scan, "resetTasks", some);
    try {
      return scan.toBatch();
    } finally {
      call(scan, "resetTasks", all);
    }
  }

  private static Object call(Scan scan, String name, List<?>... arguments) {
    try {
      Class<?>[] types = arguments.length == 0 ? new Class<?>[0] : new Class<?>[] {List.class};
      Method method = Class.forName(OWNER, false, scan.getClass().getClassLoader()).getDeclaredMethod(name, types);
      method.setAccessible(true);
      return method.invoke(scan, (Object[]) arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("Iceberg's scans have no method %s as expected".formatted(name), e);
    }
  }
}
