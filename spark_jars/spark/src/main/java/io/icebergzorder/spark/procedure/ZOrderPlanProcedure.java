package io.icebergzorder.spark.procedure;

import io.icebergzorder.spark.api.LeftFiles;
import io.icebergzorder.spark.api.PlannedFileGroup;
import io.icebergzorder.spark.api.RewritePlan;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code zorder_plan}: what {@code rewrite_data_files(strategy => 'zorder')} would do with the same arguments, and why,
 * if that is nothing. It reads metadata only, unless it is to sample, or a workload is to choose the columns.
 */
final class ZOrderPlanProcedure implements AddedProcedure {
  private static final StructType OUTPUT =
      new StructType()
          .add("data_files_count", DataTypes.IntegerType, false)
          .add("selected_data_files_count", DataTypes.IntegerType, false)
          .add("file_groups_count", DataTypes.IntegerType, false)
          .add("expected_data_files_count", DataTypes.IntegerType, false)
          .add("reason", DataTypes.StringType, true)
          .add("plan", DataTypes.StringType, false);

  private static final String SAMPLED = "sampled";
  private static final String PREDICATES = "predicates";

  @Override
  public String name() {
    return "zorder_plan";
  }

  @Override
  public String description() {
    return "What rewrite_data_files with strategy zorder would do, without doing it";
  }

  @Override
  public List<CallArguments.Parameter> parameters() {
    List<CallArguments.Parameter> parameters = new ArrayList<>(RewriteDataFilesProcedure.REQUEST);
    parameters.add(new CallArguments.Parameter(SAMPLED, DataTypes.BooleanType, false));
    parameters.add(new CallArguments.Parameter(PREDICATES, DataTypes.createArrayType(DataTypes.StringType), false));
    return parameters;
  }

  @Override
  public StructType output() {
    return OUTPUT;
  }

  @Override
  public List<Object[]> call(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    boolean isSampled = arguments.flag(SAMPLED);
    List<String> predicates = arguments.list(PREDICATES);
    if (!isSampled && !predicates.isEmpty()) {
      throw new IllegalArgumentException(String.format("Cannot use %s, because it is for %s", PREDICATES, SAMPLED));
    }
    RewritePlan planned =
        RewriteDataFilesProcedure.toPlan(session, catalog, RewriteDataFilesProcedure.request(arguments)).plan();
    RewritePlan plan = isSampled ? planned.sampled(predicates) : planned;
    List<PlannedFileGroup> groups = plan.groups();
    int selected = groups.stream().mapToInt(group -> group.files().size()).sum();
    int left = plan.left().stream().map(LeftFiles::files).mapToInt(List::size).sum();
    Object[] row = {
      selected + left,
      selected,
      groups.size(),
      groups.stream().mapToInt(PlannedFileGroup::expectedFiles).sum(),
      plan.message().map(UTF8String::fromString).orElse(null),
      UTF8String.fromString(plan.toString())
    };
    return List.<Object[]>of(row);
  }
}
