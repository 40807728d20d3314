"""Workloads: the filters that queries have on a table, and how often, read from SQL and logs. No engine is needed.

``readers/`` reads files, ``scans.py`` finds the conditions of each scan of the table in SQL, ``conditions.py`` turns
them into predicates, ``workload.py`` holds the result, ``workload_json.py`` writes it.
"""
