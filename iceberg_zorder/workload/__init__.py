"""Workloads: which conditions the queries of a table have, and how often, read from what people have.

``workload.py`` is the value, ``workload_json.py`` its file, ``readers/`` what is read, ``scans.py`` finds the
conditions that each scan of the table has in SQL, ``conditions/`` turns them into predicates. No engine is needed.
"""
