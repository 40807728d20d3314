"""Workloads: a table's filters and their frequency, read from SQL and logs, without an engine.

``readers/`` reads files. ``scans.py`` finds the conditions of each scan in SQL, once ``inlining.py`` has put queries in
the place of their names; ``join_keys.py`` adds those of joins. ``conditions.py`` converts them to predicates,
``workload.py`` holds the result, and ``workload_json.py`` writes it.
"""
