"""Which readers skip which files of a table that was rewritten: ``make bench-readers``."""
