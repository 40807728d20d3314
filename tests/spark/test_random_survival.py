"""Rewrites of random tables beside random writers: whatever the rewrite carries over or refuses, the rows are those of the writers.

``ZORDER_FUZZ_SEED=17`` runs one seed again that failed, ``ZORDER_FUZZ_SEEDS=0:300`` a range of them.
"""

import pytest
from pyspark.sql import SparkSession

from tests.fuzz.seeds import seeds
from tests.spark.tables import LINEAGE, Table
from tests.spark.test_random import RandomTable
from tests.stack.rest import RestServer

pytestmark = pytest.mark.usefixtures("version_3")
SEEDS = seeds("survival", 4)


class RacingTable(RandomTable):
    """A random table, of version 2 or 3, whose writers delete few rows at a time."""

    def __init__(self, spark: SparkSession, seed: int) -> None:
        super().__init__(spark, seed)
        self.table = Table(spark, f"db.racing_{seed}")
        self.version = 2 + seed % 2
        self.mode = "merge-on-read" if self.random.random() < 0.9 else "copy-on-write"
        self.granularity = self.random.choice(["file", "file", "partition"])

    def sql(self, text: str) -> None:
        properties = f"'format-version' = '{self.version}', 'write.delete.granularity' = '{self.granularity}'"
        if not text.startswith(("CREATE", "DROP")):
            # The rewrite commits through another catalog.
            super().sql("REFRESH TABLE TABLE_")
        super().sql(text.replace("'format-version' = '3'", properties))

    def some(self) -> str:
        return f"pmod(hash(id, {self.random.randint(1, 99)}), {self.random.randint(40, 200)}) = 0"

    def merge(self) -> None:
        self.sql(
            f"MERGE INTO TABLE_ t USING (SELECT id * 97 AS k FROM range({self.rows // 97 + 5})) s ON t.id = s.k "
            f"WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET t.g = 7 "
            "WHEN NOT MATCHED THEN INSERT (id, g) VALUES (s.k, 1)"
        )

    def copy(self) -> None:
        """Have some rows twice."""
        self.sql(f"INSERT INTO TABLE_ SELECT * FROM TABLE_ WHERE {self.some()}")

    def write(self) -> None:
        """Do what other writers do during a rewrite."""
        steps = [*[self.delete, self.update] * 3, self.merge, self.copy, self.append]
        if self.random.random() < 0.15:
            steps += [self.add, self.rename, self.drop, self.widen]
        for _ in range(self.random.randint(1, 3)):
            self.random.choice(steps)()

    def rows_now(self) -> object:
        self.sql("REFRESH TABLE TABLE_")
        return self.table.fingerprint(extra=LINEAGE if self.version == 3 else ())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rows_are_those_of_the_writers(spark: SparkSession, server: RestServer, seed: int) -> None:
    made = RacingTable(spark, seed)
    made.make()
    for _ in range(made.random.randint(0, 2)):
        made.copy()
        made.delete()
    sort_order, options = made.sort_order(), made.options()
    where = {"where": f"id >= {made.rows // 3}"} if made.random.random() < 0.3 else {}
    oracle = [made.rows_now()]
    waiting = made.random.choice([1, 1, 2, 3, 5])
    orphans = made.table.orphans()

    def write() -> None:
        nonlocal waiting
        if waiting:
            waiting -= 1
            made.write()
            oracle[0] = made.rows_now()

    server.before_commit = write
    try:
        result = str(made.table.call(sort_order, options=options, catalog=f"rest_{server.server_port}", **where))
    except Exception as error:
        result = str(error).partition("\tat ")[0]
        assert "conflicted with another operation" in result, f"seed {seed}: {sort_order} with {options}"
        result = result[-400:]
    finally:
        server.before_commit = None
    assert made.rows_now() == oracle[0], f"seed {seed}: {sort_order} with {options}: {result}"
    assert made.table.orphans() == orphans
    translated = [each["summary"].get("zorder.translated-deletes") for each in made.table.snapshots()]
    print(f"seed {seed}: version {made.version}, {list(filter(None, translated))} rows translated, {result}")
    made.sql("DROP TABLE TABLE_ PURGE")
