"""Advice on a table's layout: candidates are simulated on sampled rows and judged by a workload's queries."""
