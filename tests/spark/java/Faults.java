package io.icebergzorder.faults;

import java.util.function.ToIntFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.spark.FileRewriteCoordinator;
import org.apache.iceberg.spark.ScanTaskSetManager;
import org.apache.iceberg.spark.SparkCatalog;
import org.apache.iceberg.spark.SparkTableCache;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union$;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What may go wrong on Spark's driver beside our code: a plug-in's optimizer rule, and the files of a catalog. */
public final class Faults {
  /** What goes wrong; empty for nothing. */
  public static volatile String fault = "";

  /** Writes that have been optimized since this was set to 0. */
  public static volatile int writes;

  private Faults() {}

  /** Recurses for ever: a real error. */
  private static int overflow(int depth) {
    return overflow(depth + 1) + 1;
  }

  /** A rule of another plug-in of the session. */
  public static final class OptimizerRule extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      boolean isWrite = plan instanceof AppendData;
      if (fault.equals("sampling") && !isWrite) {
        overflow(0);
      }
      if (!isWrite || ((AppendData) plan).query() instanceof Filter || isUnion(plan)) {
        return plan;
      }
      writes++;
      if (fault.equals("second write") && writes == 2) {
        overflow(0);
      }
      if (fault.equals("filter")) {
        return (LogicalPlan) plan.mapChildren(query -> new Filter(Literal.FalseLiteral(), query));
      }
      if (fault.equals("union")) {
        return (LogicalPlan) plan.mapChildren(query -> Union$.MODULE$.apply(query, query));
      }
      return plan;
    }

    private static boolean isUnion(LogicalPlan plan) {
      return ((AppendData) plan).query() instanceof org.apache.spark.sql.catalyst.plans.logical.Union;
    }
  }

  /** How many file groups Iceberg's registries have something of. */
  public static final class Staged implements ToIntFunction<Table> {
    @Override
    public int applyAsInt(Table table) {
      return SparkTableCache.get().size()
          + ScanTaskSetManager.get().fetchSetIds(table).size()
          + FileRewriteCoordinator.get().fetchSetIds(table).size();
    }
  }

  /** The catalog of the other tests, with such files. */
  public static final class FaultyCatalog extends SparkCatalog {
    @Override
    protected Catalog buildIcebergCatalog(String name, CaseInsensitiveStringMap options) {
      Configuration configuration = SparkSession.active().sparkContext().hadoopConfiguration();
      JdbcCatalog catalog = new JdbcCatalog(properties -> new FaultyFiles(configuration), null, true);
      catalog.setConf(configuration);
      catalog.initialize("lake", options.asCaseSensitiveMap());
      return catalog;
    }
  }

  /** Files, of which manifests cannot be written. */
  public static final class FaultyFiles extends HadoopFileIO {
    public FaultyFiles(Configuration configuration) {
      super(configuration);
    }

    @Override
    public OutputFile newOutputFile(String path) {
      if (fault.equals("commit") && path.contains("/metadata/")) {
        overflow(0);
      }
      return super.newOutputFile(path);
    }
  }
}
