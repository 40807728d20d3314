package io.icebergzorder.spark.layout;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.spark.bounds.BoundKeys;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;

/** The lower/upper bounds of the files of one group, column by column of a row order. Only keys are kept of a file. */
public final class GroupBounds {
  private final List<BoundKeys> columns;
  private final int[] keyLengths;
  private final LongStream.Builder bytes = LongStream.builder();

  public GroupBounds(Table table, ResolvedSortOrder order, int[] keyLengths) {
    this.keyLengths = keyLengths;
    // A partition field has no bounds of its own.
    columns = new ArrayList<>(Collections.nCopies(order.partition().size(), null));
    order.named().forEach(column -> columns.add(new BoundKeys(column, table.schema())));
  }

  /** The bounds of some groups' files of today, from the manifests: metrics of all that were listed would take much memory. */
  public static Map<FileGroup, GroupBounds> today(TablePlan plan, Collection<FileGroup> groups, int[] keyLengths) {
    Map<FileGroup, GroupBounds> bounds = new LinkedHashMap<>();
    Map<String, GroupBounds> byLocation = new HashMap<>();
    for (FileGroup group : groups) {
      GroupBounds ofGroup = new GroupBounds(plan.target().table(), plan.order(), keyLengths);
      bounds.put(group, ofGroup);
      group.files().forEach(file -> byLocation.put(file.file().location(), ofGroup));
    }
    plan.forEachFileWithBounds(
        file -> Optional.ofNullable(byLocation.get(file.location())).ifPresent(ofGroup -> ofGroup.add(file)));
    return bounds;
  }

  /** Adds a file, which has the metrics of the columns if its manifest does. */
  public void add(DataFile file) {
    columns.stream().filter(column -> column != null).forEach(column -> column.add(file));
    bytes.add(file.fileSizeInBytes());
  }

  /** The files as they are measured by a sample of the group's rows; none is added afterwards. */
  public ScanMeasurement.MeasuredGroup measured(Sample lookedFor, long rows) {
    List<ScanMeasurement.Bounds> bounds =
        IntStream.range(0, columns.size())
            .mapToObj(i -> columns.get(i) == null ? null : bounds(columns.get(i).bounds(), keyLengths[i]))
            .toList();
    return new ScanMeasurement.MeasuredGroup(lookedFor, rows, bytes.build().toArray(), bounds);
  }

  private static ScanMeasurement.Bounds bounds(ColumnBounds column, int keyLength) {
    boolean[] hasValues = new boolean[column.size()];
    for (int file = 0; file < hasValues.length; file++) {
      hasValues[file] = column.hasValues(file);
    }
    return new ScanMeasurement.Bounds(cut(column.lower(), keyLength), cut(column.upper(), keyLength), hasValues);
  }

  /** Cuts bounds as the keys of the sample are, which would else look smaller than the lower bound of their own file. */
  private static KeyColumn cut(KeyColumn keys, int length) {
    if (keys.domain() == KeyDomain.LONG) {
      return keys;
    }
    byte[][] cut = new byte[keys.size()][];
    byte[] states = new byte[cut.length];
    for (int file = 0; file < cut.length; file++) {
      byte[] key = keys.bytesKey(file);
      states[file] = keys.state(file);
      cut[file] = key == null || key.length <= length ? key : Arrays.copyOf(key, length);
    }
    return KeyColumn.ofBytes(cut, states);
  }
}
