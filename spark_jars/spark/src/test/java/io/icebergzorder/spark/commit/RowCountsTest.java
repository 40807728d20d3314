package io.icebergzorder.spark.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.icebergzorder.spark.WholeFile;
import java.util.List;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.junit.jupiter.api.Test;

/** What the manifests of a file group's old files and of their deletes say of the rows that are left. */
class RowCountsTest {
  @Test
  void withoutDeletesEveryRowIsLeft() {
    assertEquals(new RowCounts(150, 150), RowCounts.of(List.of(task(100), task(50))));
  }

  @Test
  void deletionVectorsCountTheRowsThatTheyDelete() {
    assertEquals(new RowCounts(143, 143), RowCounts.of(List.of(task(100, vector(7)), task(50))));
  }

  @Test
  void positionDeletesMayNameRowsTwiceAndThoseOfOtherFiles() {
    assertEquals(new RowCounts(88, 100), RowCounts.of(List.of(task(100, positions(7), positions(5)))));
    assertEquals(new RowCounts(50, 150), RowCounts.of(List.of(task(100, positions(3000)), task(50))));
  }

  @Test
  void equalityDeletesMayDeleteEveryRow() {
    assertEquals(new RowCounts(50, 150), RowCounts.of(List.of(task(100, equality(1)), task(50))));
    assertEquals(new RowCounts(0, 93), RowCounts.of(List.of(task(100, vector(7), equality(1)))));
  }

  private static FileScanTask task(long rows, DeleteFile... deletes) {
    return new WholeFile("f.parquet", 1, rows, deletes);
  }

  private static DeleteFile positions(long rows) {
    return delete().ofPositionDeletes().withPath("p.parquet").withRecordCount(rows).build();
  }

  private static DeleteFile equality(long rows) {
    return delete().ofEqualityDeletes(1).withPath("e.parquet").withRecordCount(rows).build();
  }

  private static DeleteFile vector(long rows) {
    return delete()
        .ofPositionDeletes()
        .withPath("v.puffin")
        .withFormat(FileFormat.PUFFIN)
        .withReferencedDataFile("f.parquet")
        .withContentOffset(4)
        .withContentSizeInBytes(6)
        .withRecordCount(rows)
        .build();
  }

  private static FileMetadata.Builder delete() {
    return FileMetadata.deleteFileBuilder(WholeFile.SPEC).withFileSizeInBytes(1);
  }
}
