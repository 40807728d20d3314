// The part of Parquet's file metadata that leads to the page indexes; fields not named here are skipped.
// Source: parquet.thrift of the Apache Parquet format, 2.11.

struct PageLocation { 1: required i64 offset, 2: required i32 compressed_page_size, 3: required i64 first_row_index }
struct OffsetIndex { 1: required list<PageLocation> page_locations }
struct ColumnIndex { 1: required list<bool> null_pages, 2: required list<binary> min_values, 3: required list<binary> max_values }
struct ColumnMetaData { 3: required list<string> path_in_schema }
struct ColumnChunk {
  3: optional ColumnMetaData meta_data,
  4: optional i64 offset_index_offset, 5: optional i32 offset_index_length,
  6: optional i64 column_index_offset, 7: optional i32 column_index_length
}
struct RowGroup { 1: required list<ColumnChunk> columns }
struct FileMetaData { 4: required list<RowGroup> row_groups }
