"""Read the rows of data files without deleted rows, in the table's schema."""
