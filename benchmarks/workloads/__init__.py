"""Cuts from a workload beside other layouts, on queries that no layout has seen: ``make bench-workload``."""
