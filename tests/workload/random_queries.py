"""Random queries in DuckDB's SQL over three small tables, of which ``t`` is the one whose scans are looked at."""

import random

from iceberg_zorder.workload.scanned_table import ScannedTable

TABLE = ScannedTable(
    ("main", "t"),
    {
        ("a",): "long",
        ("b",): "int",
        ("s",): "string",
        ("d",): "date",
        ("ts",): "timestamp",
        ("n",): "decimal(9, 2)",
        ("f",): "double",
        ("flag",): "boolean",
        ("st",): "struct<1: x: optional int, 2: y: optional string>",
        ("st", "x"): "int",
        ("st", "y"): "string",
    },
)
CREATE = (
    "CREATE TABLE t (a BIGINT, b INTEGER, s VARCHAR, d DATE, ts TIMESTAMP, n DECIMAL(9, 2), f DOUBLE, flag BOOLEAN, "
    "st STRUCT(x INTEGER, y VARCHAR))",
    "CREATE TABLE u (k BIGINT, b INTEGER, s VARCHAR, d DATE, z INTEGER, tz TIMESTAMPTZ)",
    "CREATE TABLE v (a BIGINT, k BIGINT, w VARCHAR)",
)
TEXTS = ("", "a", "ab", "abc", "abd", "b", "a%", "A", "x_y", "3")


def rows(rng: random.Random, count: int = 40) -> list[str]:
    """INSERT statements that fill the tables, with many NULLs and few values."""
    kinds = {"a": "int", "b": "int", "k": "int", "z": "int", "s": "text", "w": "text", "d": "date", "ts": "moment"}
    kinds |= {"tz": "moment", "n": "number", "f": "float", "flag": "bool"}
    names = {
        "t": ["a", "b", "s", "d", "ts", "n", "f", "flag", "st"],
        "u": ["k", "b", "s", "d", "z", "tz"],
        "v": ["a", "k", "w"],
    }
    found = []
    for table, columns in names.items():
        values = []
        for _ in range(count if table == "t" else count // 3):
            each = [
                f"{{'x': {literal(rng, 'int', nulls=0.2)}, 'y': {literal(rng, 'text', nulls=0.2)}}}"
                if column == "st"
                else literal(rng, kinds[column], nulls=0.2)
                for column in columns
            ]
            values.append(f"({', '.join(each)})")
        found.append(f"INSERT INTO {table} VALUES {', '.join(values)}")
    return found


def literal(rng: random.Random, kind: str, *, nulls: float = 0.02) -> str:
    """A value of a kind."""
    if rng.random() < nulls:
        return "NULL"
    if kind == "int":
        return str(rng.randint(-1, 6))
    if kind == "number":
        return f"{rng.randint(-4, 24) / 4:.2f}"
    if kind == "float":
        return f"CAST({rng.randint(-4, 24) / 4} AS DOUBLE)"
    if kind == "text":
        return "'" + rng.choice(TEXTS) + "'"
    if kind == "bool":
        return rng.choice(("TRUE", "FALSE"))
    day = f"2024-{rng.randint(1, 3):02}-{rng.choice((1, 2, 15, 28)):02}"
    if kind == "date":
        return f"DATE '{day}'"
    return f"TIMESTAMP '{day} {rng.choice(('00:00:00', '10:30:00', '23:59:59.5'))}'"


COMPARISONS = (
    *("t.{int} {op} {0}", "t.{int} + 1 {op} {0}", "{0} {op} t.{int}", "abs(t.{int}) {op} {0}", "t.a * 2 {op} t.b"),
    *("t.{int} IN ({0}, {1})", "t.{int} NOT IN ({0}, NULL)", "t.{int} BETWEEN {0} AND {1}", "t.{int} IS NULL"),
    *("t.{int} IS DISTINCT FROM {0}", "(t.a, t.b) {op} ({0}, {1})", "coalesce(t.{int}, {0}) {op} {1}", "t.flag"),
    *("CASE WHEN t.b {op} {0} THEN t.a ELSE {1} END = 1", "t.s {op} 'ab'", "t.s LIKE 'a%'", "t.s NOT LIKE '%b'"),
    *("upper(t.s) = 'A'", "left(t.s, 1) = 'a'", "t.st.x {op} {0}", "t.n {op} {0}.25", "t.f {op} {0}", "NOT t.flag"),
    *("t.d {op} DATE '2024-02-01'", "year(t.d) = 2024", "date_trunc('month', t.ts) {op} TIMESTAMP '2024-02-01'"),
    *("t.ts - INTERVAL 1 DAY {op} TIMESTAMP '2024-01-31 10:30:00'", "CAST(t.ts AS DATE) {op} DATE '2024-01-15'"),
    *("t.a IN (SELECT k FROM u WHERE u.b {op} {0})", "EXISTS (SELECT 1 FROM u WHERE u.s = t.s AND u.z {op} {0})"),
    *("t.b {op} (SELECT max(z) FROM u)", "t.a NOT IN (SELECT a FROM v WHERE v.k IS NOT NULL)", "1 = 0"),
)
STATEMENTS = (
    "SELECT t.a, t.s FROM t WHERE {0}",
    "SELECT t.a, u.k FROM t {join} u ON t.b = u.b AND {1} WHERE {0}",
    "SELECT t.a FROM t {semi} u ON t.a = u.k AND {1} WHERE {0}",
    "SELECT x.a, y.b FROM (SELECT * FROM t WHERE {0}) x {join} (SELECT * FROM t WHERE {1}) y ON x.a = y.a",
    "WITH q AS (SELECT a, b, s FROM t WHERE {0}) SELECT q.b, t.a FROM q {join} t ON q.a = t.b AND {1}",
    "SELECT t.b, count(*) FROM t {join} v ON t.a = v.a WHERE {0} GROUP BY t.b HAVING t.b {op} 2",
    "SELECT a, b FROM (SELECT *, rank() OVER (PARTITION BY b ORDER BY a, s) r FROM t) t WHERE r < 3 AND t.b {op} 2",
    "SELECT t.a FROM t WHERE {0} UNION ALL SELECT t.b FROM t WHERE {1}",
    "SELECT t.a FROM t, u, v WHERE t.b = u.b AND u.k = v.k AND v.a {op} 2 AND {0}",
    "SELECT t.a FROM t {join} u ON t.b = u.b {further} v ON u.k = v.k AND v.a {op} 2 WHERE {0}",
    "SELECT t.a FROM (SELECT * FROM t) t JOIN u ON t.ts = u.tz AND u.z {op} 2 WHERE {0}",
    "SELECT t.a FROM t {join} (u {further} v ON u.k = v.k) ON t.b = u.b AND {1} WHERE v.a {op} 2",
)


def statement(rng: random.Random) -> str:
    """A query of ``t``, alone or beside the other tables."""
    more = {
        **{each: rng.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")) for each in ("join", "further")},
        "semi": rng.choice(("SEMI JOIN", "ANTI JOIN")),
    }
    return rng.choice(STATEMENTS).format(_condition(rng, 2), _condition(rng, 1), op=_operator(rng), **more)


def _condition(rng: random.Random, depth: int) -> str:
    style = rng.random()
    if depth and style < 0.5:
        return f"({_condition(rng, depth - 1)} {rng.choice(('AND', 'AND', 'OR'))} {_condition(rng, depth - 1)})"
    if depth and style < 0.65:
        return f"{rng.choice(('NOT', '(1 = 1) =', 'FALSE IS NOT DISTINCT FROM'))} ({_condition(rng, depth - 1)})"
    text = rng.choice(COMPARISONS)
    return text.format(rng.randint(-1, 6), rng.randint(-1, 6), int=rng.choice("ab"), op=_operator(rng))


def _operator(rng: random.Random) -> str:
    return rng.choice(("=", "=", "<", "<=", ">", ">=", "<>"))
