package io.icebergzorder.spark.api;

import io.icebergzorder.spark.internals.SupportedVersions;
import io.icebergzorder.spark.plan.Selection;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.ResolvedSpec;
import io.icebergzorder.spark.spec.RewriteSpec;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/**
 * A rewrite by z-order or Hilbert clustering, without SQL:
 *
 * <pre>{@code
 * RewritePlan plan =
 *     ZOrderRewrite.of(spark, "lake.db.events")
 *         .sortOrder("zorder(user_id, ts)")
 *         .where("ts < TIMESTAMP '2026-01-01'")
 *         .option("rewrite-all", "true")
 *         .plan();                             // metadata only
 * System.out.println(plan);
 * RewritePlan dryRun = plan.sampled();         // reads a sample: layouts and predictions
 * ZOrderResult result = dryRun.execute();
 * }</pre>
 *
 * <p>Arguments, options and messages are those of {@code CALL system.rewrite_data_files(strategy => 'zorder', ...)}, which uses this class.
 * An instance collects arguments and is not thread-safe; a plan is immutable.
 */
public final class ZOrderRewrite {
  private final Function<String, CatalogTable> load;
  private final String table;
  private final Map<String, String> options = new LinkedHashMap<>();
  private String sortOrder;
  private String where;
  private String branch;
  private boolean likeBuiltin;

  private ZOrderRewrite(String table, Function<String, CatalogTable> load) {
    this.table = table;
    this.load = load;
  }

  /**
   * Begins a rewrite.
   *
   * @param session the session whose catalogs, settings and cluster it uses
   * @param table the table's name: with its catalog, or in the session's current one
   */
  public static ZOrderRewrite of(SparkSession session, String table) {
    return new ZOrderRewrite(table, name -> CatalogTable.load(session, name));
  }

  /**
   * Begins a rewrite of a table of one catalog.
   *
   * @param session the session whose settings and cluster it uses
   * @param catalog the catalog
   * @param table the table's name, with or without the catalog's
   */
  public static ZOrderRewrite of(SparkSession session, TableCatalog catalog, String table) {
    return new ZOrderRewrite(table, name -> CatalogTable.load(session, catalog, name));
  }

  /**
   * Sets the sort order, for example {@code zorder(a, b)} or {@code region DESC, hilbert(a, b)}. The default is the table's property
   * {@code zorder.columns}.
   */
  public ZOrderRewrite sortOrder(String text) {
    this.sortOrder = text;
    return this;
  }

  /** Sets one option. */
  public ZOrderRewrite option(String name, String value) {
    options.put(name, value);
    return this;
  }

  /** Adds options. */
  public ZOrderRewrite options(Map<String, String> more) {
    options.putAll(more);
    return this;
  }

  /** Limits the rewrite to data files that may match a SQL condition; null for all files. */
  public ZOrderRewrite where(String predicate) {
    this.where = predicate;
    return this;
  }

  /** Sets the branch to rewrite; null for the branch in the table's name, else main. */
  public ZOrderRewrite branch(String name) {
    this.branch = name;
    return this;
  }

  /**
   * Makes the rewrite behave like Iceberg's own sort: with its default file size, and without regard to the predicted gain. A plan in JSON
   * does not record this.
   */
  public ZOrderRewrite likeBuiltin() {
    this.likeBuiltin = true;
    return this;
  }

  /**
   * Plans the rewrite. Reads manifests, but no data.
   *
   * @throws IllegalArgumentException if an argument is invalid; the message names it with the reason
   * @throws UnsupportedOperationException if this version of Iceberg is not supported
   */
  public RewritePlan plan() {
    SupportedVersions.checkIceberg();
    RewriteSpec spec = new RewriteSpec(table, sortOrder, options, where, branch, likeBuiltin);
    CatalogTable target = load.apply(table);
    return new RewritePlan(target, Selection.plan(target, ResolvedSpec.of(target, spec)));
  }

  /**
   * Plans and executes the rewrite. Concurrent operations on the same files are conflicts; with partial progress they affect only their
   * own file groups.
   *
   * @return Iceberg's result, with the reads of filters before and after; without files if there is nothing to rewrite
   * @throws IllegalArgumentException if an argument is invalid; the message names it with the reason
   * @throws UnsupportedOperationException if this version of Iceberg is not supported
   * @throws RuntimeException as {@link RewritePlan#execute} does
   */
  public ZOrderResult execute() {
    return plan().executeAsIs();
  }
}
