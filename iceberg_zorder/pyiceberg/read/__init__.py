"""The rows of data files that their deletes leave, as rows of the table's schema."""
