package io.icebergzorder.spark.report;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.InclusiveMetricsEvaluator;
import org.apache.iceberg.expressions.Projections;

/** A condition, as it rules data files out: by their partition, and by their metrics. */
final class FileCondition {
  private final InclusiveMetricsEvaluator metrics;
  private final Map<Integer, Evaluator> partitions = new HashMap<>();
  private final Set<Integer> fieldIds;

  FileCondition(Table table, Expression condition, boolean caseSensitive) {
    metrics = new InclusiveMetricsEvaluator(table.schema(), condition, caseSensitive);
    for (PartitionSpec spec : table.specs().values()) {
      Expression projected = Projections.inclusive(spec, caseSensitive).project(condition);
      partitions.put(spec.specId(), new Evaluator(spec.partitionType(), projected, caseSensitive));
    }
    fieldIds = Binder.boundReferences(table.schema().asStruct(), List.of(condition), caseSensitive);
  }

  /** The columns whose metrics are looked at. */
  Set<Integer> fieldIds() {
    return fieldIds;
  }

  /** Whether a data file may hold a row for which the condition is true. */
  boolean mayMatch(ContentFile<?> file) {
    return partitions.get(file.specId()).eval(file.partition()) && metrics.eval(file);
  }
}
