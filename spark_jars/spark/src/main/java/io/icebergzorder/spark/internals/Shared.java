package io.icebergzorder.spark.internals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;

/**
 * A value that every task needs and that may be large: it is sent to each executor once and opened there once, where a
 * plain field of a function would travel with each stage and be read anew by each of its tasks.
 *
 * <p>It may be several values, of which each partition of a stage needs one, because it holds rows of one file group: they travel
 * together, and each is opened where it is asked for.
 *
 * <p>It travels as bytes, because Spark writes broadcasts with the serializer that the user has chosen: Kryo may refuse
 * classes that are not registered, and does not honour {@code readResolve}.
 */
public final class Shared<T extends Serializable> implements Serializable, AutoCloseable {
  private static final long serialVersionUID = 1L;

  /** By the bytes that Spark keeps on this executor, so that a value goes when they do. */
  private static final Map<byte[], Object> OPENED = Collections.synchronizedMap(new WeakHashMap<>());

  /** The values, and after them the place of the value of each partition, if they are several. */
  private final Broadcast<byte[][]> bytes;
  private final boolean isByPartition;
  /** Found once for each task, for it is asked for by each row. */
  private transient T value;

  Shared(SparkContext context, List<T> values, int[] placesOfPartitions) {
    Stream<Serializable> all = Stream.concat(values.stream(), Stream.ofNullable(placesOfPartitions));
    this.isByPartition = placesOfPartitions != null;
    this.bytes = JavaSparkContext.fromSparkContext(context).broadcast(all.map(Shared::written).toArray(byte[][]::new));
  }

  /** The value for the rows of this task, which all tasks on an executor share: do not change it. */
  @SuppressWarnings("unchecked")
  public T value() {
    if (value == null) {
      value = (T) opened(isByPartition ? placeOfTask() : 0);
    }
    return value;
  }

  private int placeOfTask() {
    TaskContext task = TaskContext.get();
    if (task == null) {
      // Spark would find the value of an expression on the driver.
      throw new IllegalStateException("Cannot tell whose rows these are, because no task reads or writes them");
    }
    return ((int[]) opened(bytes.value().length - 1))[task.partitionId()];
  }

  private Object opened(int place) {
    return OPENED.computeIfAbsent(bytes.value()[place], Shared::read);
  }

  /** Takes the value from the driver and from all executors. */
  @Override
  public void close() {
    bytes.destroy();
  }

  private static byte[] written(Serializable value) {
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    try (ObjectOutputStream stream = new ObjectOutputStream(written)) {
      stream.writeObject(value);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return written.toByteArray();
  }

  private static Object read(byte[] written) {
    try (ObjectInputStream stream = new ObjectInputStream(new ByteArrayInputStream(written))) {
      return stream.readObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException("Cannot open a layout, because this executor has another plugin jar than the driver", e);
    }
  }
}
