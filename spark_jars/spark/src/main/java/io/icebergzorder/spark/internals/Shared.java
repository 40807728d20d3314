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
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;

/**
 * A value that every task needs and that may be large: it is sent to each executor once and opened there once, where a
 * plain field of a function would travel with each stage and be read anew by each of its tasks.
 *
 * <p>It may be several values, of which a task needs few: they travel together, and each is opened where it is asked
 * for.
 *
 * <p>It travels as bytes, because Spark writes broadcasts with the serializer that the user has chosen: Kryo may refuse
 * classes that are not registered, and does not honour {@code readResolve}.
 */
public final class Shared<T extends Serializable> implements Serializable, AutoCloseable {
  private static final long serialVersionUID = 1L;

  /** By the bytes that Spark keeps on this executor, so that a value goes when they do. */
  private static final Map<byte[], Object> OPENED = Collections.synchronizedMap(new WeakHashMap<>());

  private final Broadcast<byte[][]> bytes;

  /** Found once for each task, for it is asked for by each row. */
  private transient T first;

  Shared(SparkContext context, List<T> values) {
    byte[][] written = values.stream().map(Shared::written).toArray(byte[][]::new);
    this.bytes = JavaSparkContext.fromSparkContext(context).broadcast(written);
  }

  /** The first value, which all tasks on an executor share: do not change it. */
  public T value() {
    if (first == null) {
      first = value(0);
    }
    return first;
  }

  /** One of the values, which all tasks on an executor share: do not change it. Not for each row. */
  @SuppressWarnings("unchecked")
  public T value(int number) {
    return (T) OPENED.computeIfAbsent(bytes.value()[number], Shared::read);
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
