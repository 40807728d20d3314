"""The quickstart: what a rewrite does to a dozen queries of TPC-H lineitem, measured before and after.

    __main__    the stages, in order: generate, load, measure, rewrite, measure, report
    data        TPC-H lineitem, and the catalog and the table it is loaded into
    queries     the dozen queries
    measure     files and bytes planned, bytes read, and the result of a query
    report      rendering

Run it with ``python -m quickstart``.
"""
