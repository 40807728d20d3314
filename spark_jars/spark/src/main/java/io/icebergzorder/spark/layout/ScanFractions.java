package io.icebergzorder.spark.layout;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.LaidOutSample;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.core.metrics.NewFiles;
import io.icebergzorder.core.metrics.ScanMeasurement;
import io.icebergzorder.core.metrics.ScanMeasurement.MeasuredFiles;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;

/**
 * Measures the file groups of a plan, all in the same way: by the scan fractions of {@code column = value}, and by what the queries of
 * a workload read. Fractions go by the name of the column, in the order of the columns; those without a value are left out.
 */
public final class ScanFractions {
  private final TablePlan plan;
  private final ResolvedSortOrder order;
  private final KeptBounds kept;
  private final int[] keyLengths;
  private final ConditionReads queries;

  /** Takes what new files keep of bounds, and by column the bytes at which the keys of samples are cut. */
  ScanFractions(TablePlan plan, KeptBounds kept, int[] keyLengths, ConditionReads queries) {
    this.plan = plan;
    this.order = plan.order();
    this.kept = kept;
    this.keyLengths = keyLengths;
    this.queries = queries;
  }

  /** Measures groups by their samples, in their order. Manifests are read: metrics of all that were listed would take much memory. */
  Map<FileGroup, SampledGroup> groups(Map<FileGroup, LaidOutSample> samples) {
    Set<String> wanted = new HashSet<>();
    samples.keySet().forEach(group -> wanted.addAll(group.locations()));
    FileBounds today =
        new FileBounds(
            order.named(),
            plan.target().table().schema(),
            visitor ->
                plan.forEachFileWithBounds(file -> {
                  if (wanted.contains(file.location())) {
                    visitor.accept(file);
                  }
                }));
    Map<FileGroup, BytesRead> read = queries.today(samples.keySet());
    Map<FileGroup, SampledGroup> groups = new LinkedHashMap<>();
    samples.forEach((group, sample) -> {
      BoundedFiles files = cut(today.of(group.locations()));
      Map<String, Double> before = measured(List.of(new MeasuredFiles(files, sample)));
      groups.put(group, planned(group, sample, files, before, read.get(group)));
    });
    return groups;
  }

  /** The same group by another layout. */
  SampledGroup with(SampledGroup group, Layout layout) {
    return planned(group.group(), group.sample().with(layout), group.today(), group.before(), group.readBefore());
  }

  private SampledGroup planned(
      FileGroup group, LaidOutSample sample, BoundedFiles today, Map<String, Double> before, BytesRead read) {
    BoundedFiles planned = newFiles(sample);
    Map<String, Double> predicted = predicted(List.of(new MeasuredFiles(planned, sample)));
    BytesRead willRead = queries.predicted(group, planned);
    return new SampledGroup(
        group, sample, today, planned, before, predicted, read, willRead, mean(before, read), mean(predicted, willRead));
  }

  /** The files that a layout is predicted to make, with what will be kept of bounds. A partition field has no bounds of its own. */
  private BoundedFiles newFiles(LaidOutSample sample) {
    BoundedFiles made = NewFiles.of(sample, order.all());
    List<ColumnBounds> named =
        made.columns().stream()
            .skip(order.partition().size())
            .map(bounds -> kept.areKept(bounds.column()) ? bounds : bounds.unbounded())
            .toList();
    return new BoundedFiles(made.partitions(), made.rows(), made.sizes(), named);
  }

  /** New files, to be measured. */
  public BoundedFiles written(Collection<DataFile> files) {
    return cut(new FileBounds(order.named(), plan.target().table().schema(), files::forEach).all());
  }

  /** Cuts bounds as the keys of samples are, which would else look smaller than the lower bound of their own file. */
  private BoundedFiles cut(BoundedFiles files) {
    List<ColumnBounds> cut =
        IntStream.range(0, files.columns().size())
            .mapToObj(i -> files.columns().get(i).cut(keyLengths[order.partition().size() + i]))
            .toList();
    return new BoundedFiles(files.partitions(), files.rows(), files.sizes(), cut);
  }

  public Map<String, Double> before(Collection<SampledGroup> groups) {
    return groups.size() == 1
        ? groups.iterator().next().before()
        : measured(groups.stream().map(each -> new MeasuredFiles(each.today(), each.sample())).toList());
  }

  public Map<String, Double> predicted(Collection<SampledGroup> groups) {
    return groups.size() == 1
        ? groups.iterator().next().predicted()
        : predicted(groups.stream().map(each -> new MeasuredFiles(each.planned(), each.sample())).toList());
  }

  private Map<String, Double> predicted(List<MeasuredFiles> groups) {
    return byColumn(groups.isEmpty(), i -> {
      ClusteringColumn column = order.named().get(i);
      if (kept.areKept(column)) {
        return ScanMeasurement.of(groups, i, kept.kept(column));
      }
      // Without bounds every file is read.
      return groups.stream().anyMatch(group -> group.lookedFor().columns().get(i).hasValue()) ? 1 : Double.NaN;
    });
  }

  /** Those that files have by their bounds; empty without a group. */
  public Map<String, Double> measured(List<MeasuredFiles> groups) {
    return byColumn(groups.isEmpty(), i -> ScanMeasurement.of(groups, i));
  }

  private Map<String, Double> byColumn(boolean isEmpty, IntToDoubleFunction ofColumn) {
    Map<String, Double> fractions = new LinkedHashMap<>();
    List<ClusteringColumn> columns = order.named();
    for (int i = 0; i < columns.size() && !isEmpty; i++) {
      double fraction = ofColumn.applyAsDouble(i);
      if (!Double.isNaN(fraction)) {
        fractions.put(columns.get(i).name(), fraction);
      }
    }
    return Collections.unmodifiableMap(fractions);
  }

  /** What filters read on average: by the weights of a workload's queries, else over the columns by theirs. NaN if there is nothing. */
  double mean(Map<String, Double> fractions, BytesRead read) {
    if (plan.workload().isPresent()) {
      return read.mean(plan.workload().get().weights());
    }
    double sum = 0;
    double weights = 0;
    List<ClusteringColumn> columns = order.named();
    for (int i = 0; i < columns.size(); i++) {
      Double fraction = fractions.get(columns.get(i).name());
      if (fraction != null) {
        double weight = order.weight(i);
        sum += weight * fraction;
        weights += weight;
      }
    }
    return sum / weights;
  }

  /** What the queries of the workload read of new files. */
  public BytesRead read(Collection<DataFile> files) {
    return queries.made(files);
  }
}
