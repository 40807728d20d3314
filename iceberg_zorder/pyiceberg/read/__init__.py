"""Read the rows of data files, without deleted ones, as rows of the table's schema."""
