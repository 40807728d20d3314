package io.icebergzorder.spark.sample;

import io.icebergzorder.core.ScanPrediction.SampledGroup;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.report.NewFiles;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.measure.FileCondition;
import io.icebergzorder.spark.measure.FilePartition;
import io.icebergzorder.spark.measure.PredictedFiles;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.Condition;
import io.icebergzorder.spark.request.RowOrder;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;

/** The scan fractions of conditions among the files of a plan that is sampled, and among those that its layouts will make. */
public final class PredicateFractions {
  private final TablePlan plan;
  private final Table table;
  private final FittedLayouts layouts;
  private final List<FileCondition> conditions;

  private PredicateFractions(TablePlan plan, FittedLayouts layouts, List<Condition> conditions) {
    this.plan = plan;
    this.table = plan.target().table();
    this.layouts = layouts;
    this.conditions =
        conditions.stream().map(each -> new FileCondition(table, each, plan.target().isCaseSensitive())).toList();
  }

  /**
   * The scan fraction of one condition, in [0, 1].
   *
   * @param before among the files of today; empty if they have no bytes
   * @param predicted among the new files, as predicted; empty in the same case
   */
  public record Fraction(OptionalDouble before, OptionalDouble predicted) {
    /** Where there are no files. */
    public static final Fraction OF_NOTHING = new Fraction(OptionalDouble.empty(), OptionalDouble.empty());
  }

  /** Measures conditions, each in its place. Manifests are read again, and no data. */
  public static List<Fraction> of(TablePlan plan, FittedLayouts layouts, List<Condition> conditions) {
    if (layouts.groups().isEmpty()) {
      return conditions.stream().map(each -> Fraction.OF_NOTHING).toList();
    }
    PredicateFractions fractions = new PredicateFractions(plan, layouts, conditions);
    BytesRead before = fractions.before();
    BytesRead predicted = fractions.predicted();
    return IntStream.range(0, conditions.size())
        .mapToObj(i -> new Fraction(before.share(i), predicted.share(i)))
        .toList();
  }

  /** Bytes of files, and how many of them each condition reads. Sums of whole bytes are the same in any order, and so in Python. */
  private static final class BytesRead {
    private long all;
    private final long[] read;

    BytesRead(int conditions) {
      read = new long[conditions];
    }

    void add(long bytes, IntPredicate isRead) {
      all += bytes;
      for (int i = 0; i < read.length; i++) {
        read[i] += isRead.test(i) ? bytes : 0;
      }
    }

    OptionalDouble share(int condition) {
      return all == 0 ? OptionalDouble.empty() : OptionalDouble.of((double) read[condition] / all);
    }
  }

  private BytesRead before() {
    Set<String> locations = new HashSet<>();
    layouts.groups().keySet().forEach(group -> group.files().forEach(file -> locations.add(file.file().location())));
    List<String> columns =
        conditions.stream()
            .flatMap(condition -> condition.fieldIds().stream())
            .distinct()
            .map(table.schema()::findColumnName)
            .toList();
    BytesRead bytes = new BytesRead(conditions.size());
    plan.forEachFileWithBounds(
        columns,
        file -> {
          if (locations.contains(file.location())) {
            bytes.add(file.fileSizeInBytes(), i -> conditions.get(i).mayMatch(file));
          }
        });
    return bytes;
  }

  private BytesRead predicted() {
    List<Types.NestedField> fields =
        plan.order().named().stream()
            .map(column -> table.schema().findField(String.join(".", column.parts())))
            .toList();
    BytesRead bytes = new BytesRead(conditions.size());
    for (FittedGroup group : layouts.groups().values()) {
      DataFiles made = newFiles(group.sampled());
      PredictedFiles predicted = new PredictedFiles(fields, List.of(partition(group.group())));
      List<boolean[]> read = conditions.stream().map(condition -> predicted.mayMatch(condition, made)).toList();
      for (int file = 0; file < made.count(); file++) {
        int place = file;
        bytes.add(made.sizes()[file], i -> read.get(i)[place]);
      }
    }
    return bytes;
  }

  /** The files that a layout is predicted to make, with what will be kept of bounds. */
  private DataFiles newFiles(SampledGroup group) {
    RowOrder order = plan.order();
    KeptBounds kept = layouts.metrics().ofNewFiles();
    if (group.fitted().rows() == 0) {
      return NewFiles.unknown(group, order.named());
    }
    DataFiles made = NewFiles.of(Map.of(0, group), order.all());
    List<ColumnBounds> named = made.columns().subList(order.partition().size(), made.columns().size());
    return new DataFiles(
        made.partitions(),
        made.rows(),
        made.sizes(),
        named.stream().map(bounds -> kept.areKept(bounds.column()) ? bounds : bounds.unbounded()).toList());
  }

  private static FilePartition partition(PlannedGroup group) {
    if (group.changesSpec()) {
      return FilePartition.UNKNOWN;
    }
    return new FilePartition(group.files().get(0).spec(), group.files().get(0).file().partition());
  }
}
