package io.icebergzorder.spark.measure;

import io.icebergzorder.core.ScanPrediction.SampledGroup;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.report.NewFiles;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.queries.Condition;
import io.icebergzorder.spark.queries.FileCondition;
import io.icebergzorder.spark.queries.FilePartition;
import io.icebergzorder.spark.request.RowOrder;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;

/** What conditions read of files: of those of today, of those that layouts are predicted to make, and of those that were made. */
public final class ConditionReads {
  private final TablePlan plan;
  private final Table table;
  private final List<FileCondition> conditions;
  private final Map<PlannedGroup, JoinedFile> joined = new HashMap<>();

  /** Takes conditions, which keep their places. */
  public ConditionReads(TablePlan plan, List<Condition> conditions) {
    this.plan = plan;
    this.table = plan.target().table();
    this.conditions =
        conditions.stream().map(each -> new FileCondition(table, each, plan.target().isCaseSensitive())).toList();
  }

  /** What is read of the files of some groups today. Manifests are read again, unless there is no condition. */
  public Map<PlannedGroup, BytesRead> today(Collection<PlannedGroup> groups) {
    Map<PlannedGroup, BytesRead> read = new LinkedHashMap<>();
    Map<String, PlannedGroup> byLocation = new HashMap<>();
    List<Types.NestedField> kept = keptFields();
    for (PlannedGroup group : groups) {
      read.put(group, new BytesRead(conditions.size()));
      joined.put(group, new JoinedFile(kept));
      group.files().forEach(file -> byLocation.put(file.file().location(), group));
    }
    if (!conditions.isEmpty()) {
      plan.forEachFileWithBounds(
          columns(),
          file -> {
            PlannedGroup group = byLocation.get(file.location());
            if (group != null) {
              add(read.get(group), file);
              joined.get(group).add(file);
            }
          });
    }
    return read;
  }

  private List<String> columns() {
    return conditions.stream()
        .flatMap(condition -> condition.fieldIds().stream())
        .distinct()
        .map(table.schema()::findColumnName)
        .toList();
  }

  /** The columns of conditions of which new files keep bounds. */
  private List<Types.NestedField> keptFields() {
    MetricsConfig metrics = MetricsConfig.forTable(table);
    return columns().stream()
        .filter(name -> KeptBounds.areKept(metrics.columnMode(name)))
        .map(table.schema()::findField)
        .toList();
  }

  private void add(BytesRead read, DataFile file) {
    read.add(file.fileSizeInBytes(), i -> conditions.get(i).mayMatch(file));
  }

  /** What is read of files that were made. */
  public BytesRead made(Iterable<DataFile> files) {
    BytesRead read = new BytesRead(conditions.size());
    files.forEach(file -> add(read, file));
    return read;
  }

  /** What will be read of predicted files: nothing by a condition that {@link #today}'s files of the group rule out together. */
  public BytesRead predicted(PlannedGroup group, SampledGroup sampled, KeptBounds kept) {
    BytesRead read = new BytesRead(conditions.size());
    if (conditions.isEmpty()) {
      return read;
    }
    DataFiles made = newFiles(sampled, kept);
    boolean[][] mayMatch = new PredictedFiles(fields(), List.of(partition(group))).mayMatch(conditions, made);
    DataFile today = joined.get(group).file();
    boolean[] mayFind = new boolean[conditions.size()];
    for (int i = 0; i < mayFind.length; i++) {
      mayFind[i] = conditions.get(i).valuesMayMatch(today);
    }
    for (int file = 0; file < made.count(); file++) {
      int place = file;
      read.add(made.sizes()[file], i -> mayFind[i] && mayMatch[i][place]);
    }
    return read;
  }

  private List<Types.NestedField> fields() {
    return plan.order().named().stream()
        .map(column -> table.schema().findField(String.join(".", column.parts())))
        .toList();
  }

  /** The files that a layout is predicted to make, with what will be kept of bounds. */
  private DataFiles newFiles(SampledGroup group, KeptBounds kept) {
    RowOrder order = plan.order();
    DataFiles made = NewFiles.of(group, order.all());
    List<ColumnBounds> named = made.columns().subList(order.partition().size(), made.columns().size());
    return new DataFiles(
        made.partitions(),
        made.rows(),
        made.sizes(),
        named.stream().map(bounds -> kept.areKept(bounds.column()) ? bounds : bounds.unbounded()).toList());
  }

  /** Which conditions may be true in the partition of a file group. */
  public boolean[] asked(PlannedGroup group) {
    FilePartition partition = partition(group);
    boolean[] asked = new boolean[conditions.size()];
    for (int i = 0; i < asked.length; i++) {
      asked[i] = conditions.get(i).mayMatch(partition);
    }
    return asked;
  }

  private static FilePartition partition(PlannedGroup group) {
    if (group.changesSpec()) {
      return FilePartition.UNKNOWN;
    }
    return new FilePartition(group.files().get(0).spec(), group.files().get(0).file().partition());
  }
}
