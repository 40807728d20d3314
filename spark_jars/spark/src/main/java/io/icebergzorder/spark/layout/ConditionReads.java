package io.icebergzorder.spark.layout;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.bounds.ValueKeys;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.Condition;
import io.icebergzorder.spark.spec.FileCondition;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.IntPredicate;
import java.util.function.IntToDoubleFunction;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;

/** The bytes of files that conditions read: of today's files, of predicted files and of new files. */
public final class ConditionReads {
  private final Table table;
  private final List<FileCondition> conditions;
  private final Map<FileGroup, JoinedFile> joined = new HashMap<>();
  private final BytesRead others;

  public ConditionReads(CatalogTable target, List<Condition> conditions) {
    this.table = target.table();
    this.conditions = conditions.stream().map(each -> new FileCondition(table, each, target.isCaseSensitive())).toList();
    this.others = new BytesRead(conditions.size());
  }

  /** What is read of the files of some groups today. Manifests are read again, unless there is no condition. */
  public Map<FileGroup, BytesRead> today(TablePlan plan, Collection<FileGroup> groups) {
    Map<FileGroup, BytesRead> read = new LinkedHashMap<>();
    groups.forEach(group -> read.put(group, new BytesRead(conditions.size())));
    if (conditions.isEmpty()) {
      return read;
    }
    Map<String, FileGroup> byLocation = new HashMap<>();
    List<String> columns = FileCondition.columns(table, conditions);
    MetricsConfig metrics = MetricsConfig.forTable(table);
    List<Types.NestedField> kept =
        columns.stream().filter(name -> KeptBounds.areKept(metrics.columnMode(name))).map(table.schema()::findField).toList();
    for (FileGroup group : groups) {
      joined.put(group, new JoinedFile(kept));
      group.locations().forEach(location -> byLocation.put(location, group));
    }
    plan.spec().scope().forEachWithBounds(table, plan.start().snapshotId(), columns, task -> {
      DataFile file = task.file();
      FileGroup group = byLocation.get(file.location());
      add(group == null ? others : read.get(group), file);
      if (group != null) {
        joined.get(group).add(file);
      }
    });
    return read;
  }

  /** What is read of the files of no group, once {@link #today} is known. */
  BytesRead others() {
    return others;
  }

  private void add(BytesRead read, DataFile file) {
    read.add(file.fileSizeInBytes(), i -> conditions.get(i).mayMatch(file));
  }

  public BytesRead made(Iterable<DataFile> files) {
    BytesRead read = new BytesRead(conditions.size());
    files.forEach(file -> add(read, file));
    return read;
  }

  /** What will be read of predicted files: nothing by a condition that {@link #today}'s files of the group rule out together. */
  public BytesRead predicted(FileGroup group, BoundedFiles planned) {
    BytesRead read = new BytesRead(conditions.size());
    if (conditions.isEmpty()) {
      return read;
    }
    DataFile today = joined.get(group).file();
    boolean[] mayFind = asked(group);
    for (int i = 0; i < mayFind.length; i++) {
      mayFind[i] &= conditions.get(i).valuesMayMatch(today);
    }
    for (int place = 0; place < planned.count(); place++) {
      DataFile file = newFile(planned, place);
      read.add(planned.sizes()[place], i -> mayFind[i] && conditions.get(i).valuesMayMatch(file));
    }
    return read;
  }

  /** A file that does not exist yet, so that Iceberg can judge conditions on it by its metrics. */
  private DataFile newFile(BoundedFiles files, int place) {
    long rows = Math.max(1, files.rows()[place]);
    Map<Integer, Long> values = new HashMap<>();
    Map<Integer, Long> nulls = new HashMap<>();
    Map<Integer, ByteBuffer> lower = new HashMap<>();
    Map<Integer, ByteBuffer> upper = new HashMap<>();
    for (ColumnBounds bounds : files.columns()) {
      Types.NestedField field = table.schema().findField(String.join(".", bounds.column().parts()));
      values.put(field.fieldId(), rows);
      nulls.put(field.fieldId(), (long) Math.rint(rows * (1 - bounds.valued()[place])));
      putBound(lower, bounds.lower(), place, field);
      putBound(upper, bounds.upper(), place, field);
    }
    return JoinedFile.described(files.sizes()[place], rows, values, nulls, lower, upper);
  }

  private static void putBound(Map<Integer, ByteBuffer> bounds, KeyColumn keys, int place, Types.NestedField field) {
    if (keys.state(place) == KeyColumn.VALUE) {
      bounds.put(field.fieldId(), ValueKeys.bound(keys, place, field.type()));
    }
  }

  /** Which conditions may be true in the partition of a file group; all where rows of several come together. */
  public boolean[] asked(FileGroup group) {
    boolean[] asked = new boolean[conditions.size()];
    boolean spansPartitions = group.spansPartitions();
    for (int i = 0; i < asked.length; i++) {
      asked[i] = spansPartitions || conditions.get(i).partitionMayMatch(group.files().get(0).file());
    }
    return asked;
  }

  /** Bytes of files, and how many bytes and files each of some conditions reads. Sums of whole numbers are the same in any order. */
  public static final class BytesRead {
    private long all;
    private final long[] read;
    private final long[] files;

    public BytesRead(int conditions) {
      read = new long[conditions];
      files = new long[conditions];
    }

    /** Adds up what is read of several sets of files by the same conditions. */
    public static BytesRead sum(int conditions, Stream<BytesRead> parts) {
      BytesRead sum = new BytesRead(conditions);
      parts.forEach(part -> {
        sum.all += part.all;
        for (int i = 0; i < conditions; i++) {
          sum.read[i] += part.read[i];
          sum.files[i] += part.files[i];
        }
      });
      return sum;
    }

    public void add(long bytes, IntPredicate isRead) {
      all += bytes;
      for (int i = 0; i < read.length; i++) {
        boolean is = isRead.test(i);
        read[i] += is ? bytes : 0;
        files[i] += is ? 1 : 0;
      }
    }

    /** The share of the bytes that a condition reads, in [0, 1]; empty if there are no bytes. */
    public OptionalDouble share(int condition) {
      return all == 0 ? OptionalDouble.empty() : OptionalDouble.of((double) read[condition] / all);
    }

    /** The mean of the shares, by the weights of the conditions; NaN if there are no bytes or no weights. */
    public double mean(double[] weights) {
      return mean(weights, i -> share(i).orElse(Double.NaN));
    }

    /** The mean of what conditions cost, in bytes, by their weights. */
    double cost(double[] weights, long openCost) {
      return mean(weights, i -> read[i] + openCost * files[i]);
    }

    private static double mean(double[] weights, IntToDoubleFunction ofCondition) {
      double total = 0;
      double sum = 0;
      for (int i = 0; i < weights.length; i++) {
        total += weights[i] * ofCondition.applyAsDouble(i);
        sum += weights[i];
      }
      return total / sum;
    }
  }
}
