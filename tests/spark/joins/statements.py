"""Joins of every kind as SQL: ``{f}`` is the large table as f, ``{k}`` its key, ``{d}`` the small one, ``{g}`` a condition on it as d."""

QUERIES = {
    "inner": "SELECT f.*, d.w FROM {f} JOIN {d} d ON {k} = d.k WHERE {g}",
    "semi": "SELECT f.* FROM {f} LEFT SEMI JOIN {d} d ON {k} = d.k AND {g}",
    "right": "SELECT f.id, d.w FROM {f} RIGHT JOIN (SELECT * FROM {d} d WHERE {g}) d ON {k} = d.k",
    "left": "SELECT f.id, d.w FROM {f} LEFT JOIN (SELECT * FROM {d} d WHERE {g}) d ON {k} = d.k",
    "full": "SELECT f.id, d.w FROM {f} FULL JOIN (SELECT * FROM {d} d WHERE {g}) d ON {k} = d.k",
    "anti": "SELECT f.id FROM {f} LEFT ANTI JOIN {d} d ON {k} = d.k AND {g}",
    "in": "SELECT f.* FROM {f} WHERE {k} IN (SELECT d.k FROM {d} d WHERE {g})",
    "not in": "SELECT f.id FROM {f} WHERE {k} NOT IN (SELECT d.k FROM {d} d WHERE {g})",
    "exists": "SELECT f.* FROM {f} WHERE EXISTS (SELECT 1 FROM {d} d WHERE d.k = {k} AND {g})",
    "not exists": "SELECT f.id FROM {f} WHERE NOT EXISTS (SELECT 1 FROM {d} d WHERE d.k = {k} AND {g})",
    "scalar": "SELECT f.* FROM {f} WHERE {k} = (SELECT max(d.k) FROM {d} d WHERE {g})",
    "union": "SELECT u.id, d.w FROM (SELECT f.id, {k} AS k FROM {f} WHERE f.v < 50 UNION ALL"
    " SELECT f.id + 1000000, {k} FROM {f} WHERE f.v >= 50) u JOIN {d} d ON u.k = d.k WHERE {g}",
    "null-safe": "SELECT f.id, d.w FROM {f} JOIN {d} d ON {k} <=> d.k WHERE {g}",
    "two keys": "SELECT f.*, d.w FROM {f} JOIN {d} d ON {k} = d.k AND f.m = d.m WHERE {g}",
    "two small sides": "SELECT f.id, d.w, e.w FROM {f} JOIN {d} d ON {k} = d.k JOIN {d} e ON f.m = e.m WHERE {g} AND e.g = 1",
    "another key": "SELECT f.*, d.w FROM {f} JOIN {d} d ON f.id = d.w WHERE {g}",
    "aggregate": "SELECT d.g, count(*), sum(f.id), min({k}), max({k}) FROM {f} JOIN {d} d ON {k} = d.k WHERE {g} GROUP BY d.g",
    "filter": "SELECT f.*, d.w FROM {f} JOIN {d} d ON {k} = d.k WHERE {g} AND f.v < 70",
    "filter on the key": "SELECT f.*, d.w FROM {f} JOIN {d} d ON {k} = d.k WHERE {g} AND {k} >= {literal}",
    "twice": "WITH part AS (SELECT f.id, f.v FROM {f} JOIN {d} d ON {k} = d.k WHERE {g})"
    " SELECT x.id, y.v FROM part x JOIN part y ON x.id = y.id + 1",
    "place": "SELECT f.id, f._file, f._pos, f._spec_id FROM {f} JOIN {d} d ON {k} = d.k WHERE {g}",
    "grouped": "SELECT f.id, d.w FROM {f} JOIN (SELECT d.k, max(d.w) AS w FROM {d} d WHERE {g} GROUP BY d.k) d ON {k} = d.k",
}

BY_OTHER_COLUMNS = ("two keys", "two small sides", "another key")
"""Those whose keys are of columns that no table of the fuzzer is partitioned by."""

_SOURCE = "(SELECT d.k, d.m, d.w FROM {d} d WHERE {g}) s"

CHANGES_SQL = {
    "merge": f"MERGE INTO {{t}} f USING {_SOURCE} ON {{k}} = s.k WHEN MATCHED THEN UPDATE SET f.v = f.v + 1000"
    " WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})",
    "merge delete": f"MERGE INTO {{t}} f USING {_SOURCE} ON {{k}} = s.k WHEN MATCHED THEN DELETE",
    "merge by source": f"MERGE INTO {{t}} f USING {_SOURCE} ON {{k}} = s.k WHEN MATCHED THEN UPDATE SET f.v = f.v + 1000"
    " WHEN NOT MATCHED BY SOURCE AND f.v < 50 THEN UPDATE SET f.v = f.v + 2000 WHEN NOT MATCHED BY SOURCE AND f.v > 80 THEN DELETE",
    "merge insert": f"MERGE INTO {{t}} f USING {_SOURCE} ON {{k}} = s.k WHEN NOT MATCHED THEN INSERT ({{columns}}) VALUES ({{values}})",
    "merge by two keys": f"MERGE INTO {{t}} f USING {_SOURCE} ON {{k}} = s.k AND f.m = s.m WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})",
    "merge null-safe": f"MERGE INTO {{t}} f USING {_SOURCE} ON {{k}} <=> s.k AND f.m = s.m WHEN MATCHED THEN UPDATE SET f.v = f.v + 1000",
    "merge latest": "MERGE INTO {t} f USING (SELECT k, w FROM (SELECT d.k, d.w, row_number() OVER (PARTITION BY d.k ORDER BY d.w) AS place"
    " FROM {d} d WHERE {g}) WHERE place = 1) s ON {k} = s.k WHEN MATCHED THEN UPDATE SET f.v = s.w",
    "merge filtered": f"MERGE INTO {{t}} f USING {_SOURCE} ON {{k}} = s.k AND {{k}} >= {{literal}} AND f.v < 70"
    " WHEN MATCHED AND f.v < 30 THEN DELETE WHEN MATCHED THEN UPDATE SET f.v = f.v + 1000",
    "update exists": "UPDATE {t} f SET f.v = f.v + 1000 WHERE f.v < 80 AND EXISTS (SELECT 1 FROM {d} d WHERE d.k = {k} AND {g})",
    "delete in": "DELETE FROM {t} f WHERE {k} IN (SELECT d.k FROM {d} d WHERE {g})",
    "delete not in": "DELETE FROM {t} f WHERE {k} NOT IN (SELECT d.k FROM {d} d WHERE {g})",
    "delete or": "DELETE FROM {t} f WHERE f.v < 10 OR {k} IN (SELECT d.k FROM {d} d WHERE {g})",
    "update": "UPDATE {t} f SET f.v = f.v + 1000 WHERE {k} IN (SELECT d.k FROM {d} d WHERE {g})",
    "delete": "DELETE FROM {t} f WHERE EXISTS (SELECT 1 FROM {d} d WHERE d.k = {k} AND {g})",
    "insert": "INSERT INTO {t} SELECT f.* FROM {t} f JOIN {d} d ON {k} = d.k WHERE {g}",
    "overwrite": "INSERT OVERWRITE {t} SELECT f.* FROM {t} f JOIN {d} d ON {k} = d.k WHERE {g}",
}
CHANGES = tuple(CHANGES_SQL)
"""Statements that change the table. The source of a MERGE has each key once."""
