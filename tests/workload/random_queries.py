"""Random queries in DuckDB's SQL over three small tables, of which ``t`` is the one whose scans are looked at."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
COLUMNS = {
    "t": {
        "a": "int",
        "b": "int",
        "s": "text",
        "d": "date",
        "ts": "moment",
        "n": "number",
        "f": "float",
        "flag": "bool",
        "st.x": "int",
        "st.y": "text",
    },
    "u": {"k": "int", "b": "int", "s": "text", "d": "date", "z": "int"},
    "v": {"a": "int", "k": "int", "w": "text"},
}
CREATE = (
    "CREATE TABLE t (a BIGINT, b INTEGER, s VARCHAR, d DATE, ts TIMESTAMP, n DECIMAL(9, 2), f DOUBLE, flag BOOLEAN, "
    "st STRUCT(x INTEGER, y VARCHAR))",
    "CREATE TABLE u (k BIGINT, b INTEGER, s VARCHAR, d DATE, z INTEGER)",
    "CREATE TABLE v (a BIGINT, k BIGINT, w VARCHAR)",
)
JOINS = (
    "JOIN",
    "JOIN",
    "LEFT JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    ",",
    "SEMI JOIN",
    "ANTI JOIN",
    "nested",
    "odd",
)
TEXTS = ("", "a", "ab", "abc", "abd", "b", "a%", "A", "x_y", "3")


def rows(rng: random.Random, count: int = 40) -> list[str]:
    """INSERT statements that fill the tables, with many NULLs and few values."""
    kinds = {"a": "int", "b": "int", "k": "int", "z": "int", "s": "text", "w": "text", "d": "date", "ts": "moment"}
    kinds |= {"n": "number", "f": "float", "flag": "bool"}
    names = {
        "t": ["a", "b", "s", "d", "ts", "n", "f", "flag", "st"],
        "u": ["k", "b", "s", "d", "z"],
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


@dataclass(frozen=True)
class Item:
    """Something in FROM: its alias, and its columns with their kinds."""

    alias: str
    columns: dict[str, str]


class Queries:
    """Makes queries, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._names = 0
        self.ctes: list[tuple[str, dict[str, str]]] = []
        self.views: list[tuple[str, str]] = []

    def statement(self) -> str:
        """A query, maybe with CTEs, some of which shadow the table, and views."""
        rng = self.rng
        self.ctes, self.views = [], []
        parts, recursive = [], ""
        if rng.random() < 0.05:
            items = [Item("x0", COLUMNS["t"])]
            parts.append(f"t AS (SELECT * FROM main.t AS x0{self._where(items, [], 0)})")
        for _ in range(rng.choice((0, 0, 0, 1, 2))):
            name = self._name("c")
            if rng.random() < 0.1:
                recursive = "RECURSIVE "
                text, columns = self._recursive(name)
                parts.append(f"{name}({', '.join(columns)}) AS ({text})")
            else:
                text, columns = self.query(2, [])
                named = f"({', '.join(f'n{place}' for place in range(len(columns)))})" if rng.random() < 0.1 else ""
                if named:
                    columns = {f"n{place}": kind for place, kind in enumerate(columns.values())}
                if rng.random() < 0.2 and not any(each.startswith("t AS") for each in parts):
                    self.views.append((f"{name}{named}", text))
                else:
                    parts.append(f"{name}{named} AS ({text})")
            self.ctes.append((name, columns))
        text, _ = self.query(3, [])
        return f"WITH {recursive}{', '.join(parts)} {text}" if parts else text

    def change(self) -> str:
        """A DELETE, an UPDATE or a MERGE of ``t``."""
        rng = self.rng
        self.ctes, self.views = [], []
        target = Item("x0", COLUMNS["t"])
        style = rng.random()
        if style < 0.6:
            other, text = self._item(1)
            more = rng.random() < 0.5
            items = [target, other] if more else [target]
            where = self._where(items, [], 2)
            if style < 0.3:
                return f"DELETE FROM t AS x0{f' USING {text}' if more else ''}{where}"
            return f"UPDATE t AS x0 SET a = 77, s = 'changed'{f' FROM {text}' if more else ''}{where}"
        source = "(SELECT k, max(b) AS b, max(s) AS s, max(z) AS z FROM u WHERE k IS NOT NULL GROUP BY k) AS x1"
        items = [target, Item("x1", {"k": "int", "b": "int", "s": "text", "z": "int"})]
        on = f"x0.a = x1.k AND {self.condition(items, [], 1)}"
        whens = []
        if rng.random() < 0.8:
            also = f" AND {self.condition(items, [], 0)}" if rng.random() < 0.4 else ""
            whens.append(f"WHEN MATCHED{also} THEN {rng.choice(('DELETE', 'UPDATE SET b = 77'))}")
        if rng.random() < 0.5:
            whens.append("WHEN NOT MATCHED THEN INSERT (a, b) VALUES (x1.k, 88)")
        if rng.random() < 0.3 or not whens:
            also = f" AND {self.condition([target], [], 0)}" if rng.random() < 0.5 else ""
            whens.append(f"WHEN NOT MATCHED BY SOURCE{also} THEN {rng.choice(('DELETE', 'UPDATE SET b = 99'))}")
        return f"MERGE INTO t AS x0 USING {source} ON {on} {' '.join(whens)}"

    def _recursive(self, name: str) -> tuple[str, dict[str, str]]:
        items = [Item("x0", COLUMNS["t"])]
        where = self._where(items, [], 0)
        step = f"SELECT r.q1 + 1, x1.b FROM {name} AS r JOIN t AS x1 ON x1.a = r.q1 WHERE r.q1 < 4 AND x1.b >= {self.rng.randint(-1, 3)}"
        return f"SELECT x0.a, x0.b FROM t AS x0{where} UNION {step}", {"q1": "int", "q2": "int"}

    def query(self, depth: int, outer: Sequence[Item]) -> tuple[str, dict[str, str]]:
        """A SELECT or a set operation, and what its columns are."""
        if depth > 1 and self.rng.random() < 0.15:
            return self._set_operation(depth, outer)
        return self._select(depth, outer)

    def _set_operation(self, depth: int, outer: Sequence[Item]) -> tuple[str, dict[str, str]]:
        kinds = [self.rng.choice(("int", "text", "date")) for _ in range(self.rng.randint(1, 3))]
        names = [self._name("o") for _ in kinds]
        sides = []
        for side in range(2):
            items, from_ = self._from(depth - 1, outer)
            where = self._where(items, outer, depth - 1)
            shown = [
                f"{self.scalar(kind, items, 1)} AS {name if side == 0 else self._name('p')}"
                for kind, name in zip(kinds, names, strict=True)
            ]
            sides.append(f"SELECT {', '.join(shown)} FROM {from_}{where}")
        operator = self.rng.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "UNION ALL", "EXCEPT ALL"))
        return f"{sides[0]} {operator} {sides[1]}", dict(zip(names, kinds, strict=True))

    def _select(self, depth: int, outer: Sequence[Item]) -> tuple[str, dict[str, str]]:
        rng = self.rng
        items, from_ = self._from(depth, outer)
        where = self._where(items, outer, depth)
        style = rng.random()
        if style < 0.25:
            return self._grouped(items, from_, where)
        if style < 0.4 and len(items) == 1:
            hidden = [name for name in items[0].columns if "." not in name]
            return f"SELECT * FROM {from_}{where}", {name: items[0].columns[name] for name in hidden}
        columns: dict[str, str] = {}
        shown = []
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice(("int", "int", "text", "date", "moment", "number"))
            name = self._name("o")
            shown.append(f"{self.scalar(kind, items, rng.choice((0, 0, 1)))} AS {name}")
            columns[name] = kind
        if rng.random() < 0.2:
            keys = self.scalar("int", items, 0)
            name = self._name("w")
            order = ", ".join(part.partition(" AS ")[0] for part in shown)
            window = rng.choice(
                (f"rank() OVER (PARTITION BY {keys} ORDER BY {order})", f"count(*) OVER (PARTITION BY {keys})")
            )
            shown += [f"{window} AS {name}", f"{keys} AS {name}k"]
            columns |= {name: "int", f"{name}k": "int"}
        distinct = "DISTINCT " if rng.random() < 0.1 else ""
        limit = f" ORDER BY ALL LIMIT {rng.randint(1, 5)}" if rng.random() < 0.1 else ""
        return f"SELECT {distinct}{', '.join(shown)} FROM {from_}{where}{limit}", columns

    def _grouped(self, items: list[Item], from_: str, where: str) -> tuple[str, dict[str, str]]:
        rng = self.rng
        keys = [
            (kind, self.scalar(kind, items, rng.choice((0, 0, 1))))
            for kind in rng.choices(("int", "text", "date"), k=rng.randint(0, 2))
        ]
        names = [self._name("g") for _ in keys]
        columns = {name: kind for name, (kind, _) in zip(names, keys, strict=True)}
        shown = [f"{text} AS {name}" for name, (_, text) in zip(names, keys, strict=True)]
        total = self._name("m")
        shown.append(
            f"{rng.choice(('count(*)', 'sum(' + self.scalar('int', items, 0) + ')', 'max(' + self.scalar('int', items, 0) + ')'))} AS {total}"
        )
        group = ""
        if keys:
            style = rng.random()
            group = " GROUP BY " + (
                ", ".join(names)
                if style < 0.3
                else ", ".join(str(place + 1) for place in range(len(keys)))
                if style < 0.5
                else "ALL"
                if style < 0.6
                else ", ".join(text for _, text in keys)
            )
            if style > 0.95:
                group = f" GROUP BY ROLLUP ({', '.join(text for _, text in keys)})"
        having = ""
        if rng.random() < 0.4:
            parts = [f"count(*) > {rng.randint(0, 2)}"] if rng.random() < 0.5 or not keys else []
            for kind, text in keys:
                parts.append(f"{text} {self._operator()} {literal(rng, kind)}")
            having = f" HAVING {' AND '.join(parts)}" if parts else ""
        return f"SELECT {', '.join(shown)} FROM {from_}{where}{group}{having}", {**columns, total: "int"}

    def _from(self, depth: int, outer: Sequence[Item]) -> tuple[list[Item], str]:
        rng = self.rng
        first, text = self._item(depth, must_be_t=rng.random() < 0.7)
        items = [first]
        for _ in range(rng.choice((0, 0, 1, 1, 2)) if depth > 0 else rng.choice((0, 0, 1))):
            item, right = self._item(depth)
            text, items = self._joined(rng.choice(JOINS), text, items, right, item, depth)
        return items, text

    def _joined(
        self, kind: str, text: str, items: list[Item], right: str, item: Item, depth: int
    ) -> tuple[str, list[Item]]:
        rng = self.rng
        if kind == "odd":
            return self._odd_join(text, right, items, item)
        if kind == "nested":
            more, inner = self._item(depth)
            inner_join, outer_join = rng.choice(JOINS[:6]), rng.choice(JOINS[:6])
            right = f"({right} {inner_join} {inner} ON {self._on([item], more)})"
            return f"{text} {outer_join} {right} ON {self._on(items, item)}", [*items, item, more]
        if kind == ",":
            return f"{text} CROSS JOIN {right}", [*items, item]
        on = f"ON {self._on(items, item)}"
        if kind in ("SEMI JOIN", "ANTI JOIN"):
            return f"{text} {kind} {right} {on}", items
        shared = [name for name in item.columns if name in items[-1].columns and len(items) == 1 and "." not in name]
        if shared and rng.random() < 0.15:
            on = f"USING ({rng.choice(shared)})"
        return f"{text} {kind} {right} {on}", [*items, item]

    def _odd_join(self, text: str, right: str, items: list[Item], item: Item) -> tuple[str, list[Item]]:
        rng = self.rng
        # ASOF joins are tried elsewhere: DuckDB 1.5 crashes on some in subqueries.
        kind = rng.choice(("NATURAL JOIN", "NATURAL LEFT JOIN", "NATURAL FULL JOIN", "POSITIONAL JOIN", "LATERAL"))
        if kind == "LATERAL":
            inner, outer = Item(self._name("x"), COLUMNS["t"]), self._column("int", items)
            where = f"{inner.alias}.a = {outer or '1'} AND {self.condition([inner], [], 0)}"
            lateral = f"SELECT {inner.alias}.b AS lb, {inner.alias}.s AS ls FROM t AS {inner.alias} WHERE {where}"
            found = Item(item.alias, {"lb": "int", "ls": "text"})
            return f"{text}, LATERAL ({lateral}) AS {item.alias}", [*items, found]
        return f"{text} {kind} {right}", [*items, item]

    def _on(self, items: Sequence[Item], item: Item) -> str:
        rng = self.rng
        kind = rng.choice(("int", "int", "int", "text", "date"))
        left, right = self._column(kind, items), self._column(kind, [item])
        parts = [f"{left} = {right}"] if left and right and rng.random() < 0.85 else []
        parts += [self.condition([*items, item], [], 1) for _ in range(rng.choice((0, 1, 1)) if parts else 1)]
        return " AND ".join(parts)

    def _item(self, depth: int, *, must_be_t: bool = False) -> tuple[Item, str]:
        rng = self.rng
        alias = self._name("x")
        if not must_be_t and depth > 0 and rng.random() < 0.25:
            text, columns = self.query(depth - 1, [])
            if rng.random() < 0.15:
                renamed = [self._name("r") for _ in columns]
                return Item(
                    alias, dict(zip(renamed, columns.values(), strict=True))
                ), f"({text}) AS {alias}({', '.join(renamed)})"
            return Item(alias, columns), f"({text}) AS {alias}"
        if not must_be_t and self.ctes and rng.random() < 0.4:
            name, columns = rng.choice(self.ctes)
            return Item(alias, columns), f"{name} AS {alias}"
        table = "t" if must_be_t else rng.choice(("t", "u", "u", "v"))
        style = rng.random()
        if table == "t" and style < 0.04:
            return Item(
                alias, {"p1": "int", "p2": "int", **{k: v for k, v in COLUMNS["t"].items() if k not in "ab"}}
            ), f"t AS {alias}(p1, p2)"
        if table == "t" and style < 0.08:
            star = rng.choice(
                ("* EXCLUDE (a)", "* REPLACE (b + 1 AS b)", "* REPLACE (upper(s) AS s)", "t.*, a + 1 AS a1")
            )
            columns = {k: v for k, v in COLUMNS["t"].items() if k != "a" or "EXCLUDE" not in star}
            return Item(alias, columns), f"(SELECT {star} FROM t) AS {alias}"
        if table == "t" and style < 0.1:
            return Item(
                alias, {"s": "text"}
            ), f"(SELECT a, b, s FROM t) PIVOT (count(a) FOR b IN (1, 2) GROUP BY s) AS {alias}"
        if table == "t" and style < 0.12:
            return Item(
                alias, COLUMNS["t"]
            ), f"(SELECT * FROM t QUALIFY rank() OVER (PARTITION BY a ORDER BY b, s, d, ts, n, f) <= 2) AS {alias}"
        if table == "t" and style < 0.14:
            return Item(
                alias, COLUMNS["t"]
            ), f"(SELECT DISTINCT ON (a) * FROM t ORDER BY a, b, s, d, ts, n, f, flag, st) AS {alias}"
        return Item(alias, COLUMNS[table]), f"{rng.choice((table, 'main.' + table))} AS {alias}"

    def _where(self, items: Sequence[Item], outer: Sequence[Item], depth: int) -> str:
        rng = self.rng
        parts = [self.condition(items, outer, depth) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
        if len(items) > 1 and rng.random() < 0.25:
            # What an outer join has filled.
            column = self._column(rng.choice(("int", "text", "date")), items)
            parts += [f"{column} IS NULL"] if column else []
        return f" WHERE {' AND '.join(f'({part})' for part in parts)}" if parts else ""

    def condition(self, items: Sequence[Item], outer: Sequence[Item], depth: int) -> str:
        """A condition on some items, and on those of queries around it."""
        rng = self.rng
        style = rng.random()
        if style < 0.12 and depth > 0:
            return f"({self.condition(items, outer, depth - 1)} OR {self.condition(items, outer, depth - 1)})"
        if style < 0.2 and depth > 0:
            return f"NOT ({self.condition(items, outer, depth - 1)})"
        if style < 0.24 and depth > 0:
            return f"({self.condition(items, outer, depth - 1)} AND {self.condition(items, outer, depth - 1)})"
        if style < 0.28 and depth > 0:
            return f"({self.condition(items, outer, depth - 1)}) IS {rng.choice(('', 'NOT '))}{rng.choice(('TRUE', 'FALSE'))}"
        if style < 0.38 and depth > 1:
            return self._subquery(items, depth)
        if style < 0.42 and outer:
            kind = rng.choice(("int", "int", "text"))
            left, right = self._column(kind, items), self._column(kind, outer)
            bare = right.partition(".")[2] if right and right.count(".") == 1 else None
            if bare and rng.random() < 0.3 and not any(bare in item.columns for item in items):
                right = bare
            if left and right:
                return f"{left} {self._operator(0.7)} {right}"
        return self._comparison(items)

    def _subquery(self, items: Sequence[Item], depth: int) -> str:
        rng = self.rng
        kind = rng.choice(("int", "text"))
        inner, from_ = self._from(depth - 2, items)
        where = self._where(inner, items, depth - 2)
        column = self.scalar(kind, inner, 0)
        style = rng.random()
        if style < 0.3:
            correlated = self._column("int", inner), self._column("int", items)
            if all(correlated):
                where += f"{' AND' if where else ' WHERE'} {correlated[0]} = {correlated[1]}"
            return f"{rng.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM {from_}{where})"
        if style < 0.7:
            return f"{self.scalar(kind, items, 0)} {rng.choice(('IN', 'IN', 'NOT IN'))} (SELECT {column} FROM {from_}{where})"
        return f"{self.scalar('int', items, 0)} {self._operator()} (SELECT max({self.scalar('int', inner, 0)}) FROM {from_}{where})"

    def _comparison(self, items: Sequence[Item]) -> str:
        rng = self.rng
        kind = rng.choice(("int", "int", "int", "text", "text", "date", "moment", "number", "float", "bool"))
        node = self.scalar(kind, items, rng.choice((0, 0, 1, 1, 2)))
        style = rng.random()
        if kind == "bool":
            forms = (node, f"{node} = {literal(rng, 'bool')}", f"{node} IS NOT TRUE", f"coalesce({node}, FALSE)")
            return rng.choice((*forms, f"{node} IS NULL"))
        if style < 0.5:
            value = literal(rng, kind)
            return f"{node} {self._operator()} {value}" if rng.random() < 0.8 else f"{value} {self._operator()} {node}"
        if style < 0.9:
            return self._one_sided(node, kind)
        if style < 0.95:
            other, pair = self._column("int", items), self._column("int", items)
            if other and pair:
                return f"({other}, {pair}) {self._operator()} ({literal(rng, 'int')}, {literal(rng, 'int')})"
        if style < 0.97:
            return rng.choice(("1 = 1", "TRUE", "1 = 0", "NULL IS NULL"))
        return f"{node} {self._operator()} {self.scalar(kind, items, 1)}"

    def _one_sided(self, node: str, kind: str) -> str:
        """A condition on one expression."""
        rng = self.rng
        values = [literal(rng, kind, nulls=0.05) for _ in range(rng.randint(1, 4))]
        few, negation = ", ".join(values), rng.choice(("", "NOT "))
        forms = [
            f"{node} IS {negation}NULL",
            f"{node} {negation}IN ({few})",
            f"{node} {negation}BETWEEN {literal(rng, kind)} AND {literal(rng, kind)}",
            f"{node} IS {negation}DISTINCT FROM {literal(rng, kind, nulls=0.3)}",
        ]
        if kind == "text":
            pattern = rng.choice(("a%", "ab%", "%b", "a_", "%", "", "ab", "a!%%", "x_y%"))
            escape = " ESCAPE '!'" if "!" in pattern else ""
            forms += [f"{node} {negation}LIKE '{pattern}'{escape}", f"starts_with({node}, {literal(rng, 'text')})"]
        if kind == "int" and "NULL" not in values:
            forms += [f"{node} = ANY([{few}])", f"list_contains([{few}], {node})", f"{node} <> ALL([{few}])"]
        return rng.choice(forms)

    def scalar(self, kind: str, items: Sequence[Item], depth: int) -> str:
        """An expression of a kind, over a column if there is one."""
        rng = self.rng
        column = self._column(kind, items)
        if column is None:
            return literal(rng, kind)
        if depth == 0:
            return column
        inner = self.scalar(kind, items, depth - 1)
        choices: dict[str, list[Callable[[], str]]] = {
            "int": [
                lambda: f"{inner} + {rng.randint(-2, 2)}",
                lambda: f"{rng.randint(-2, 2)} - {inner}",
                lambda: f"{inner} * {rng.randint(-2, 2)}",
                lambda: f"-({inner})",
                lambda: f"abs({inner})",
                lambda: f"{inner} % 3",
                lambda: f"CAST({inner} AS BIGINT)",
                lambda: (
                    f"CASE WHEN {self.condition(items, [], 0)} THEN {inner} WHEN {self.condition(items, [], 0)} THEN {literal(rng, 'int')} ELSE {literal(rng, 'int')} END"
                ),
                lambda: f"year({self.scalar('date', items, 0)}) - 2022",
                lambda: f"date_diff('day', DATE '2024-01-15', {self.scalar('date', items, 0)})",
                lambda: f"({self.scalar('date', items, 0)} - DATE '2024-01-15')",
            ],
            "text": [
                lambda: f"upper({inner})",
                lambda: f"substring({inner}, 1, {rng.randint(1, 3)})",
                lambda: f"left({inner}, {rng.randint(1, 3)})",
                lambda: f"{inner} || 'a'",
                lambda: f"CAST({inner} AS VARCHAR)",
                lambda: f"CAST({self.scalar('int', items, 0)} AS VARCHAR)",
                lambda: f"strftime({self.scalar('date', items, 0)}, '%Y-%m')",
            ],
            "date": [
                lambda: f"{inner} + {rng.randint(-20, 20)}",
                lambda: f"CAST({inner} + INTERVAL {rng.randint(1, 9)} DAY AS DATE)",
                lambda: (
                    f"CAST(date_trunc('{rng.choice(('month', 'week', 'quarter', 'year', 'day'))}', {inner}) AS DATE)"
                ),
                lambda: f"CAST({self.scalar('moment', items, 0)} AS DATE)",
                lambda: f"last_day({inner})",
            ],
            "moment": [
                lambda: f"date_trunc('{rng.choice(('month', 'hour', 'day'))}', {inner})",
                lambda: f"({inner} + INTERVAL ({rng.randint(-30, 30)}) HOUR)",
                lambda: f"({inner} - INTERVAL 1 MONTH)",
                lambda: f"CAST({self.scalar('date', items, 0)} AS TIMESTAMP)",
            ],
            "number": [lambda: f"{inner} * 2", lambda: f"{inner} - 0.25", lambda: f"CAST({inner} AS DOUBLE)"],
            "float": [lambda: f"{inner} + 1", lambda: f"CAST({self.scalar('number', items, 0)} AS DOUBLE)"],
            "bool": [lambda: f"({self.condition(items, [], 0)})", lambda: f"coalesce({inner}, TRUE)"],
        }
        if rng.random() < 0.15:
            return f"coalesce({inner}, {literal(rng, kind)})"
        if rng.random() < 0.05:
            return f"nullif({inner}, {literal(rng, kind)})"
        return f"({rng.choice(choices[kind])()})"

    def _column(self, kind: str, items: Sequence[Item]) -> str | None:
        rng = self.rng
        found = [(item, name) for item in items for name, each in item.columns.items() if each == kind]
        if not found:
            return None
        item, name = rng.choice(found)
        is_alone = (
            sum(name.partition(".")[0] == each.partition(".")[0] for other in items for each in other.columns) == 1
        )
        is_t = item.columns is COLUMNS["t"]
        if is_alone and (is_t or len(items) == 1) and rng.random() < 0.3:
            return name
        return f"{item.alias}.{name}"

    def _operator(self, equal: float = 0.35) -> str:
        return "=" if self.rng.random() < equal else self.rng.choice(("<", "<=", ">", ">=", "<>"))

    def _name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"
