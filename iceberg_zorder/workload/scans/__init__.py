"""Which scans of a table a statement of SQL has, and the conditions that the rows of each have to meet to matter."""
