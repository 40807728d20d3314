"""Readers of workloads: SQL statements, rows of query logs, Spark's event logs."""
