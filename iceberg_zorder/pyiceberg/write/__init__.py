"""Write Parquet data files by the table's properties, with their metrics."""
