package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Beginning;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.core.metrics.LaidOutSample;
import io.icebergzorder.core.metrics.ScanMeasurement.FilterRead;
import io.icebergzorder.core.metrics.ScanMeasurement.MeasuredFiles;
import io.icebergzorder.core.metrics.ScanMeasurement;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;

/**
 * Measures the reads of filters {@code column = value} on file groups, together with the files that a plan leaves.
 *
 * @param kept what new files keep of bounds
 * @param keyLengths by column, the bytes at which keys of samples are cut
 * @param rest the files that the plan leaves, whose rows are spread between their bounds; empty if there are none
 */
public record ScanFractions(ResolvedSortOrder order, KeptBounds kept, int[] keyLengths, List<MeasuredFiles> rest) {
  /**
   * What filters {@code column = value} read of the files of a table, or of those that the filter of a rewrite selects.
   *
   * @param byColumn by name, in the order of the columns; those without a value are left out
   */
  public record TableReads(int files, long bytes, Map<String, FilterRead> byColumn) {
    /** Of nothing, because there is no file group. */
    public static final TableReads NONE = new TableReads(0, 0, Map.of());

    /** The scan fractions alone. */
    public Map<String, Double> fractions() {
      Map<String, Double> fractions = new LinkedHashMap<>();
      byColumn.forEach((column, read) -> fractions.put(column, read.fraction()));
      return Collections.unmodifiableMap(fractions);
    }

    /** What a filter on a column costs without planning, in bytes; NaN if that is not known. */
    double cost(String column, long openCost) {
      FilterRead read = byColumn.get(column);
      return read == null ? Double.NaN : read.fraction() * bytes + openCost * read.files();
    }

    /** Says what filters read before and after a rewrite, a sentence for each column. */
    public static List<String> texts(TableReads before, TableReads after) {
      return before.byColumn.keySet().stream().map(column -> text(column, before, after)).toList();
    }

    static String text(String column, TableReads before, TableReads after) {
      return "a filter on %s reads %s (was %s)".formatted(column, after.text(column), before.text(column));
    }

    private String text(String column) {
      FilterRead read = byColumn.get(column);
      if (read == null) {
        return "an unknown part";
      }
      String count = Reason.rounded(read.files(), read.files() >= 10 || Reason.rounded(read.files(), 1).endsWith(".0") ? 0 : 1);
      return String.format(Locale.ROOT, "%s in %s of %s", Reason.size(read.fraction() * bytes), count, Reason.files(files));
    }
  }

  /** The files that a layout is predicted to make, with what will be kept of bounds. A partition field has no bounds of its own. */
  BoundedFiles planned(LaidOutSample sample) {
    BoundedFiles made = sample.newFiles(order.all());
    List<ColumnBounds> named = made.columns().stream().skip(order.partition().size())
        .map(bounds -> kept.areKept(bounds.column()) ? bounds : bounds.unbounded()).toList();
    return new BoundedFiles(made.partitions(), made.rows(), made.sizes(), named);
  }

  /** New files, to be measured. */
  public BoundedFiles written(Table table, Collection<DataFile> files) {
    return cut(new FileBounds(order.named(), table, files::forEach).all());
  }

  /** Cuts bounds as the keys of samples are, which would else look smaller than the lower bound of their own file. */
  BoundedFiles cut(BoundedFiles files) {
    List<ColumnBounds> cut = IntStream.range(0, files.columns().size())
        .mapToObj(i -> files.columns().get(i).cut(keyLengths[order.partition().size() + i])).toList();
    return new BoundedFiles(files.partitions(), files.rows(), files.sizes(), cut);
  }

  /** Measures today's files of file groups. */
  public TableReads before(Collection<SampledGroup> groups) {
    return reads(groups.stream().map(each -> new MeasuredFiles(each.today(), each.sample())).toList(), false);
  }

  /** Predicts what is read of the new files of file groups. */
  public TableReads predicted(Collection<SampledGroup> groups) {
    return reads(groups.stream().map(each -> new MeasuredFiles(each.planned(), each.sample())).toList(), true);
  }

  /** Measures files by their bounds, or planned ones by what will be kept of them. */
  public TableReads reads(List<MeasuredFiles> groups, boolean arePlanned) {
    if (groups.isEmpty()) {
      return TableReads.NONE;
    }
    List<MeasuredFiles> all = Stream.concat(groups.stream(), rest.stream()).toList();
    List<ClusteringColumn> columns = order.named();
    FilterRead[] reads =
        IntStream.range(0, columns.size())
            .parallel()
            .mapToObj(i -> ScanMeasurement.of(all, i, arePlanned ? kept.kept(columns.get(i)) : Beginning.WHOLE))
            .toArray(FilterRead[]::new);
    Map<String, FilterRead> found = new LinkedHashMap<>();
    for (int i = 0; i < reads.length; i++) {
      if (reads[i] != null) {
        found.put(columns.get(i).name(), reads[i]);
      }
    }
    return new TableReads(
        all.stream().mapToInt(each -> each.files().count()).sum(), all.stream().mapToLong(each -> each.files().bytes()).sum(), found);
  }
}
