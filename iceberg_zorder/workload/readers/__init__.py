"""Reads workloads from what people have: SQL, rows of query logs, Spark's event logs."""
