"""Advice on the layout of a table: candidates, simulated on sampled rows and judged by the queries of a workload."""
