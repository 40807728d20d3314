"""Leave the columns of a rewrite to the queries of a workload."""
