package io.icebergzorder.spark.request;

import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.report.SnapshotFacts;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types;

/** The sort order of the last rewrite, by the names that its columns have today. */
final class LastSortOrder {
  private LastSortOrder() {}

  /**
   * Writes the sort order of a rewrite of ours, whose summary has the names that its columns had then. The schema of its snapshot
   * tells which fields they are; where it has none, the names count.
   *
   * @throws IllegalArgumentException if one of the columns was dropped
   */
  static String text(Table table, SnapshotFacts layout) {
    Snapshot snapshot = table.snapshot(layout.id());
    Schema schema = snapshot == null || snapshot.schemaId() == null ? null : table.schemas().get(snapshot.schemaId());
    return SortOrder.parse(layout.sortOrder()).renamed(parts -> nameOfToday(table, layout.id(), schema, parts)).text();
  }

  private static List<String> nameOfToday(Table table, long snapshotId, Schema schema, List<String> parts) {
    Types.NestedField field = schema == null ? null : field(schema.asStruct(), parts);
    if (field == null) {
      return parts;
    }
    if (table.schema().findField(field.fieldId()) == null) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot report on %s, because column '%s' of the last rewrite (snapshot %d) was dropped: name the columns that queries"
                  + " filter on",
              table.name(), String.join(".", parts), snapshotId));
    }
    return ClusteringColumns.parts(table.schema(), field.fieldId());
  }

  /** The field of a name, or null. Names differ by case, for summaries have them as the schema does. */
  private static Types.NestedField field(Types.StructType struct, List<String> parts) {
    Types.NestedField found = struct.field(parts.get(0));
    if (parts.size() == 1 || found == null) {
      return found;
    }
    return found.type().isStructType() ? field(found.type().asStructType(), parts.subList(1, parts.size())) : null;
  }
}
