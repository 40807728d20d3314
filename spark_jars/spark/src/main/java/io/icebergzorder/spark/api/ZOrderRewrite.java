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
 * <p>Arguments, options and messages are those of {@code CALL system.rewrite_data_files(strategy => 'zorder', ...)}, which goes this
 * way, too. An instance collects arguments and is not for several threads; a plan is immutable.
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
   * Sets the order of the rows, for example {@code zorder(a, b)} or {@code region DESC, hilbert(a, b)}; by default it is what the
   * table's property {@code zorder.columns} says.
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

  /** Sets options, besides those that are set. */
  public ZOrderRewrite options(Map<String, String> more) {
    options.putAll(more);
    return this;
  }

  /** Has only data files rewritten that may hold rows for which a SQL predicate is true; null for all. */
  public ZOrderRewrite where(String predicate) {
    this.where = predicate;
    return this;
  }

  /** Has the files of a branch rewritten; null for the branch that the table's name selects, else main. */
  public ZOrderRewrite branch(String name) {
    this.branch = name;
    return this;
  }

  /**
   * Has the rewrite keep to what a sort of Iceberg's own does: its default size of files, and files are rewritten whether or not that is
   * predicted to pay. A plan in JSON does not say so.
   */
  public ZOrderRewrite likeBuiltin() {
    this.likeBuiltin = true;
    return this;
  }

  /**
   * Plans the rewrite. Manifests are read, and no data.
   *
   * @throws IllegalArgumentException if an argument cannot be honoured; the message names it and says why
   * @throws UnsupportedOperationException if this Iceberg is not known
   */
  public RewritePlan plan() {
    SupportedVersions.checkIceberg();
    RewriteSpec spec = new RewriteSpec(table, sortOrder, options, where, branch, likeBuiltin);
    return new RewritePlan(Selection.plan(ResolvedSpec.of(load.apply(table), spec)));
  }

  /**
   * Plans and rewrites in one go. Other operations that touch the same files meanwhile are conflicts, which with partial progress
   * concern their own file groups only.
   *
   * @return Iceberg's result, and what filters read before and after; without files if there is nothing to rewrite
   * @throws IllegalArgumentException if an argument cannot be honoured; the message names it and says why
   * @throws UnsupportedOperationException if this Iceberg is not known
   * @throws RuntimeException as {@link RewritePlan#execute} does
   */
  public ZOrderResult execute() {
    return plan().executeAsIs();
  }
}
