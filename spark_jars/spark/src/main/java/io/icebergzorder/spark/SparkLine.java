package io.icebergzorder.spark;

import java.util.List;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.Scan;

/** What differs between Spark lines, as far as the rewrite itself is concerned. */
public interface SparkLine {
  /** The minor version served, for example {@code 4.1}. */
  String version();

  /**
   * The minor versions of Iceberg whose staged scan and commit are known here. Any other is refused:
   * a scan that is not limited to the staged files would append every row a second time.
   */
  List<String> icebergVersions();

  /** A session with the same settings and catalogs, whose own settings may be changed freely. */
  SparkSession cloneSession(SparkSession session);

  /**
   * The parts of a table's name, without the quotes.
   *
   * @throws AnalysisException if it is no name
   */
  List<String> parseName(SparkSession session, String name) throws AnalysisException;

  /** Whether settings of the session define a catalog of this name. */
  boolean isCatalog(SparkSession session, String name);

  /**
   * Resolves a SQL predicate against a table.
   *
   * @throws AnalysisException if Spark cannot parse or resolve it
   * @throws IllegalArgumentException if Iceberg has no expression for it
   */
  Expression icebergExpression(SparkSession session, String quotedTable, String where) throws AnalysisException;

  /**
   * A staged scan with the columns {@code _file} (text) and {@code _pos} (long) besides its own: the data file that a row is
   * in, and its place there.
   */
  Dataset<Row> withFileAndPosition(Dataset<Row> staged);

  /** Iceberg's Spark table that reads and writes a staged file group. */
  org.apache.spark.sql.connector.catalog.Table stagedTable(Table table, String id);

  /** The scans at the leaves of a query's physical plan. */
  List<Scan> scans(Dataset<Row> dataset);
}
