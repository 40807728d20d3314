package io.icebergzorder.spark.plan;

import io.icebergzorder.spark.spec.FileScope;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * The state of the table that a plan was made from. Changes of its files, the schema or the partition spec make a plan stale; appends do
 * not.
 *
 * @param uuid the table's UUID, which differs from that of another table of the same name
 * @param snapshotId the branch's snapshot; null if the table has none
 * @param plannedAtMs when it was made, in milliseconds since 1970
 */
public record StartingPoint(UUID uuid, String branch, Long snapshotId, int schemaId, int specId, long plannedAtMs) {
  /** Types by which Iceberg (1.12 and before) does not apply equality deletes as specified: deleted rows would come back, and stay. */
  // Of deletes by a uuid some are ruled out by bounds, which are compared as signed numbers; of several values of a fixed in one delete file
  // only the last is found.
  private static final Set<Type.TypeID> UNRELIABLE = Set.of(Type.TypeID.UUID, Type.TypeID.FIXED);

  /** The current state of a table. */
  public static StartingPoint of(Table table, String branch) {
    Snapshot head = table.snapshot(branch);
    return new StartingPoint(
        table.uuid(),
        branch,
        head == null ? null : head.snapshotId(),
        table.schema().schemaId(),
        table.spec().specId(),
        System.currentTimeMillis());
  }

  /**
   * A data file, and what is deleted from it.
   *
   * @param path its location
   * @param deletes the locations of the delete files that apply to it, sorted; those of deletion vectors with {@code #offset} in the file
   */
  public record PlannedFile(String path, List<String> deletes) {
    /** Sorts the delete files, so that their order does not matter. */
    public PlannedFile {
      deletes = deletes.stream().sorted().toList();
    }

    /** A data file as it is listed. */
    public static PlannedFile of(FileScanTask task) {
      return new PlannedFile(task.file().location(), task.deletes().stream().map(PlannedFile::identity).toList());
    }

    private static String identity(DeleteFile delete) {
      return delete.location() + (delete.contentOffset() == null ? "" : "#" + delete.contentOffset());
    }
  }

  /** Lists the data files that a rewrite may take, from the manifests. */
  List<FileScanTask> list(Table table, FileScope scope) {
    return snapshotId == null ? List.of() : list(table, scope, snapshotId);
  }

  /** Lists those of another snapshot. */
  static List<FileScanTask> list(Table table, FileScope scope, long snapshotId) {
    checkEqualityDeletes(table, snapshotId);
    return scope.files(table, snapshotId);
  }

  /** Refuses equality deletes of types in {@link #UNRELIABLE}; manifests are read only if a column has such a type. */
  private static void checkEqualityDeletes(Table table, long snapshotId) {
    boolean mayHave =
        TypeUtil.indexById(table.schema().asStruct()).values().stream()
            .anyMatch(field -> UNRELIABLE.contains(field.type().typeId()));
    if (!mayHave) {
      return;
    }
    for (ManifestFile manifest : table.snapshot(snapshotId).deleteManifests(table.io())) {
      try (ManifestReader<DeleteFile> files = ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs())) {
        files.forEach(file -> checkEqualityDelete(table, file));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static void checkEqualityDelete(Table table, DeleteFile file) {
    if (file.content() != FileContent.EQUALITY_DELETES) {
      return;
    }
    for (int id : file.equalityFieldIds()) {
      Types.NestedField field = table.schema().findField(id);
      if (field != null && UNRELIABLE.contains(field.type().typeId())) {
        throw new IllegalArgumentException(
            String.format(
                "Cannot rewrite data files of %s on Spark, because its equality delete file %s is by column %s of type %s, which"
                    + " Iceberg does not apply as it should: deleted rows could come back. Use the PyIceberg engine"
                    + " (iceberg_zorder.pyiceberg.rewrite_data_files)",
                table.name(), file.location(), table.schema().findColumnName(id), field.type()));
      }
    }
  }

  /** Refreshes the table and refuses a stale plan; returns the branch's current snapshot, or -1 if the plan has none. */
  long check(Table table) {
    checkIsSame(table);
    if (snapshotId == null) {
      return -1;
    }
    if (table.schema().schemaId() != schemaId) {
      throw stale(table, "the table's schema has changed since", null);
    }
    if (table.spec().specId() != specId) {
      throw stale(table, "the table's partition spec has changed since", null);
    }
    SnapshotRef head = table.refs().get(branch);
    if (head == null) {
      throw stale(table, String.format("branch %s was dropped", branch), null);
    }
    boolean isThere = head.snapshotId() == snapshotId
        || table.snapshot(snapshotId) != null && SnapshotUtil.isAncestorOf(head.snapshotId(), snapshotId, table::snapshot);
    if (!isThere) {
      throw stale(table, String.format("snapshot %d is no longer in the history of branch %s", snapshotId, branch), null);
    }
    return head.snapshotId();
  }

  /** Refreshes the table, and checks that it is the planned one. */
  private void checkIsSame(Table table) {
    try {
      table.refresh();
    } catch (NoSuchTableException e) {
      throw stale(table, "the table was dropped", e);
    } catch (IllegalStateException e) {
      // Iceberg compares the tables' UUIDs, too.
      throw stale(table, "another table has its name: " + e.getMessage(), e);
    }
    // Once Iceberg has said that a table was dropped, it keeps a handle without metadata.
    if (((HasTableOperations) table).operations().current() == null) {
      throw stale(table, "the table was dropped", null);
    }
    if (!table.uuid().equals(uuid)) {
      throw stale(table, String.format("another table has its name: its UUID is %s, not %s", table.uuid(), uuid), null);
    }
  }

  /** Returns the planned files among those of a snapshot, in their order; refuses the plan if one is missing or has other deletes. */
  List<FileScanTask> find(Table table, List<FileScanTask> listed, List<PlannedFile> planned) {
    Map<String, FileScanTask> byPath = new HashMap<>();
    listed.forEach(file -> byPath.put(file.file().location(), file));
    List<FileScanTask> files = new ArrayList<>();
    for (PlannedFile file : planned) {
      FileScanTask found = byPath.get(file.path());
      if (found == null) {
        throw stale(table, String.format("data file %s is no longer in the table", file.path()), null);
      }
      if (!PlannedFile.of(found).equals(file)) {
        throw stale(table, String.format("the deletes of data file %s have changed since", file.path()), null);
      }
      files.add(found);
    }
    return files;
  }

  private static IllegalStateException stale(Table table, String why, Throwable cause) {
    return new IllegalStateException(
        String.format("Cannot execute the plan of %s, because %s. Nothing was rewritten: plan again.", table.name(), why), cause);
  }
}
