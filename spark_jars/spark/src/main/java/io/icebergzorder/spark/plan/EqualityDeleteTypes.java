package io.icebergzorder.spark.plan;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Set;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/** Refuses equality deletes that Iceberg (1.12 and before) does not apply as specified: deleted rows would come back, and stay. */
// Of deletes by a uuid some are ruled out by bounds, which are compared as signed numbers; of several values of a fixed in one delete file
// only the last is found.
final class EqualityDeleteTypes {
  private static final Set<Type.TypeID> UNRELIABLE = Set.of(Type.TypeID.UUID, Type.TypeID.FIXED);

  private EqualityDeleteTypes() {}

  /** Looks through the delete files of a snapshot; manifests are read only if a column has such a type. */
  static void check(Table table, long snapshotId) {
    boolean mayHave =
        TypeUtil.indexById(table.schema().asStruct()).values().stream()
            .anyMatch(field -> UNRELIABLE.contains(field.type().typeId()));
    if (!mayHave) {
      return;
    }
    for (ManifestFile manifest : table.snapshot(snapshotId).deleteManifests(table.io())) {
      try (ManifestReader<DeleteFile> files = ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs())) {
        files.forEach(file -> check(table, file));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static void check(Table table, DeleteFile file) {
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
}
