"""What to lay a table out by, for the queries of a workload."""
