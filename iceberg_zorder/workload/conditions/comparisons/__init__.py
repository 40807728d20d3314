"""Comparisons of an expression over a column with a value, as predicates on the column itself."""
