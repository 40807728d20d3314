"""Rows as Parquet data files, with the table's properties and the metrics that it keeps."""
