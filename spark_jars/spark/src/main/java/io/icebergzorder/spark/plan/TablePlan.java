package io.icebergzorder.spark.plan;

import io.icebergzorder.spark.request.CatalogTable;
import io.icebergzorder.spark.request.ResolvedRequest;
import io.icebergzorder.spark.request.RewriteOptions;
import io.icebergzorder.spark.request.RewriteRequest;
import io.icebergzorder.spark.request.RowOrder;
import java.util.List;
import java.util.OptionalLong;
import org.apache.iceberg.FileScanTask;

/** What a rewrite will do, from metadata alone. Immutable, but for the handle of the table. */
public final class TablePlan {
  private final ResolvedRequest request;
  private final StartingPoint start;
  private final RowOrder order;
  private final List<PlannedGroup> groups;
  private final Selection.Selected selected;

  /**
   * Takes what was planned.
   *
   * @param start what the plan was made from; null if the table has no snapshot
   * @param order the order of the rows, within each partition of the files to be written
   * @param groups the file groups that were chosen, in the order in which they are to be rewritten
   */
  TablePlan(
      ResolvedRequest request,
      StartingPoint start,
      RowOrder order,
      List<PlannedGroup> groups,
      Selection.Selected selected) {
    this.request = request;
    this.start = start;
    this.order = order;
    this.groups = List.copyOf(groups);
    this.selected = selected;
  }

  /** The table. */
  public CatalogTable target() {
    return request.target();
  }

  /** What was asked for, as written. */
  public RewriteRequest request() {
    return request.written();
  }

  /** The options, read. */
  public RewriteOptions options() {
    return request.options();
  }

  /** The branch. */
  public String branch() {
    return request.branch();
  }

  /** The snapshot that the plan was made from; empty if the table has none. */
  public OptionalLong snapshotId() {
    return start == null ? OptionalLong.empty() : OptionalLong.of(start.snapshotId());
  }

  /** The table's partition spec, by which the files were grouped. */
  public int specId() {
    return start.specId();
  }

  /** The order of the rows. */
  public RowOrder order() {
    return order;
  }

  /** The file groups to rewrite, in the order in which they are to be. */
  public List<PlannedGroup> groups() {
    return groups;
  }

  /** The files that are left alone, with the reasons. */
  public List<Selection.SelectedGroup> left() {
    return selected.left();
  }

  /** Why there is no file group, and what would force one; null if there is one. */
  public String whyNothing() {
    return selected.whyNothing();
  }

  /**
   * Looks whether the table still is what this was planned from.
   *
   * @throws IllegalStateException if a planned file is gone or has other deletes, the schema or the partition spec has changed, or the
   *     branch or the table is another one
   */
  public void checkIsCurrent() {
    List<FileScanTask> chosen = groups.stream().flatMap(group -> group.files().stream()).toList();
    if (!chosen.isEmpty()) {
      start.check(target().table(), request.scope(), chosen);
    }
  }
}
