package io.icebergzorder.spark.spec;

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

/** A condition that rules data files out, by their partition and by their metrics. */
public final class FileCondition {
  private final InclusiveMetricsEvaluator metrics;
  private final Map<Integer, Evaluator> partitions = new HashMap<>();
  private final Set<Integer> fieldIds;

  public FileCondition(Table table, Condition resolved, boolean caseSensitive) {
    Expression condition = resolved.expression();
    metrics = new InclusiveMetricsEvaluator(table.schema(), condition, caseSensitive);
    for (PartitionSpec spec : table.specs().values()) {
      Expression projected = Projections.inclusive(spec, caseSensitive).project(condition);
      partitions.put(spec.specId(), new Evaluator(spec.partitionType(), projected, caseSensitive));
    }
    fieldIds = Binder.boundReferences(table.schema().asStruct(), List.of(condition), caseSensitive);
  }

  /** The columns whose metrics some conditions look at. */
  public static List<String> columns(Table table, List<FileCondition> conditions) {
    return conditions.stream().flatMap(condition -> condition.fieldIds.stream()).distinct().map(table.schema()::findColumnName).toList();
  }

  public boolean mayMatch(ContentFile<?> file) {
    return partitionMayMatch(file) && valuesMayMatch(file);
  }

  /** The same by its partition alone. */
  public boolean partitionMayMatch(ContentFile<?> file) {
    return partitions.get(file.specId()).eval(file.partition());
  }

  /** The same by its metrics alone. */
  public boolean valuesMayMatch(ContentFile<?> file) {
    return metrics.eval(file);
  }
}
