"""Runs a case: every statement with ``join-pruning`` off and auto, which must give the same rows and leave the same table."""

from __future__ import annotations

import random
import re
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.fuzz.types import Struct
from tests.spark.joins import other_writers, values
from tests.spark.joins.cases import Case
from tests.spark.joins.random_table import RandomTable, Source, small_side
from tests.spark.joins.statements import BY_OTHER_COLUMNS, CHANGES, CHANGES_SQL, QUERIES
from tests.spark.joins.tables import IcebergTable
from tests.spark.tables import ICEBERG, settings

SETTING = "spark.iceberg-zorder.join-pruning"

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""No Java is compiled for the few rows of a query: that took longer than the rest of it."""


@dataclass
class Tally:
    """What a number of cases came to."""

    tables: int = 0
    queries: int = 0
    changes: int = 0
    skipping: Counter[str] = field(default_factory=Counter)  # queries, and changes, that skipped files
    skipping_tables: int = 0
    failed: int = 0  # statements that fail with either setting, for reasons of Iceberg's
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def __str__(self) -> str:
        each = self.seconds / max(1, self.tables)
        return (
            f"{self.tables} tables in {self.seconds:.0f} s ({each:.2f} s each): {self.queries} queries, of which {self.skipping['queries']}"
            f" skipped files, in {self.skipping_tables} tables; {self.changes} changes of tables, of which {self.skipping['changes']} did;"
            f" {self.failed} statements failed in either setting {dict(self.reasons)}"
        )


def run(spark: SparkSession, case: Case, tally: Tally, queries: int = 4, changes: int = 1) -> list[str]:
    """Make the case's table and compare some queries and changes, the first ones always; returns what is wrong."""
    rng = random.Random(f"{case.seed} run")
    unique = uuid.uuid4().hex[:6]
    fact = IcebergTable(spark, f"t_{case.seed}_{unique}")
    dimension = IcebergTable(spark, f"d_{case.seed}_{unique}")
    made = RandomTable(fact, case, rng)
    comparison = Comparison(spark, made, dimension, rng, tally)
    failures(spark)  # of other tests
    with settings(spark, INTERPRETED):
        try:
            of = small_side(dimension, case, rng)
            made.log.append(f"keys of type {of}")
            made.make()
            if case.writers:
                # Columns are measured before the others write.
                comparison.compare("inner", made.sources[-1])
                for writer in case.writers:
                    other_writers.write(made, writer, "side" if case.branch else "main")
            kinds = ["inner", rng.choice(BY_OTHER_COLUMNS), *rng.sample(sorted(QUERIES), queries)]
            for kind in kinds[:queries]:
                comparison.compare(kind, rng.choice(made.sources))
            # Iceberg 1.10 applies equality deletes by such keys at random when it changes a table: without the jar, too.
            is_random = ICEBERG < (1, 11) and case.type in ("binary", "fixed[4]") and "equality deletes" in case.writers
            if case.change and not is_random:
                for change in [case.change, *rng.sample(CHANGES, changes - 1)]:
                    comparison.compare_change(change)
        finally:
            for table in (dimension, fact):
                if table.exists():
                    table.drop()
    tally.tables += 1
    tally.skipping_tables += comparison.has_skipped
    return comparison.complaints


@dataclass
class Comparison:
    """Statements on one table, each in both settings."""

    spark: SparkSession
    made: RandomTable
    dimension: IcebergTable
    rng: random.Random
    tally: Tally
    complaints: list[str] = field(default_factory=list)
    has_skipped: bool = False

    def compare(self, kind: str, source: Source) -> None:
        """Run a query in both settings."""
        chosen = self._settings()
        sql = self._format(QUERIES[kind], source)
        if self.rng.random() < 0.5:
            sql = re.sub(r"^SELECT|(?<=^WITH part AS \()SELECT", "SELECT /*+ BROADCAST(d) */", sql)
        found = {}
        with settings(self.spark, chosen):
            for setting in ("off", "auto"):
                with settings(self.spark, {SETTING: setting}):
                    found[setting] = self._rows(sql, "queries" if setting == "auto" else None)
        self.tally.queries += 1
        self._judge(kind, sql, chosen, found)

    def compare_change(self, kind: str) -> None:
        """Change the table in both settings, from the same snapshot, and read it whole."""
        table, branch = self.made.table, "side" if self.made.case.branch else "main"
        name = table.on(branch)
        head, chosen, found = table.head(branch), self._settings(), {}
        sql = self._format(CHANGES_SQL[kind], Source(name, self.made.sources[-1].key))
        with settings(self.spark, chosen):
            for setting in ("off", "auto"):
                with settings(self.spark, {SETTING: setting}):
                    done = self._rows(sql, "changes" if setting == "auto" else None)
                left = self._rows(f"SELECT * FROM {name}", None)
                found[setting] = done if isinstance(done, str) else left
                refs = table.refs()
                table.commit(refs.rollbackTo(head) if branch == "main" else refs.replaceBranch(branch, head))
        self.tally.changes += 1
        self._judge(kind, sql, chosen, found)

    def _rows(self, sql: str, counted_as: str | None) -> Counter[str] | str:
        """The rows of a query, or why it failed."""
        try:
            query = self.spark.sql(sql)
            found = Counter(map(str, query.collect()))
        except (PySparkException, Py4JJavaError) as error:
            return _reason(error)
        if counted_as and any(skipped_files(query)):
            self.tally.skipping[counted_as] += 1
            self.has_skipped = True
        return found

    def _judge(self, kind: str, sql: str, chosen: dict[str, str], found: dict[str, Counter[str] | str]) -> None:
        off, auto = found["off"], found["auto"]
        self.complaints += [f"{failure}: {sql}" for failure in failures(self.spark)]
        if isinstance(off, str):
            self.tally.failed += 1
            self.tally.reasons[re.sub(r"o\d+\.|\S+Exception: ", "", off)[:120]] += 1
            self.made.log.append(f"failed: {sql}")
            return
        if off == auto:
            return
        lines = [f"{kind}: {sql}", f"  {chosen}", f"  {self.made.case}", f"  {'; '.join(self.made.log)}"]
        if isinstance(auto, str):
            lines.append(f"  {off.total()} rows with off, and with auto: {auto}")
        else:
            lines.append(f"  {off.total()} rows with off, {auto.total()} with auto")
            lines += [f"  only with off: {_some(off - auto)}", f"  only with auto: {_some(auto - off)}"]
        self.complaints.append("\n".join(lines))

    def _settings(self) -> dict[str, str]:
        rng = self.rng
        # Keys that are collected by jobs of their own, in an adaptive plan, can wait for each other for ever: SPARK-57041.
        adaptive, reuse = rng.choice([("true", "true"), ("false", "true"), ("false", "false")])
        drawn = {
            "spark.sql.adaptive.enabled": adaptive,
            # A table that Spark may broadcast takes no keys; the small side has fewer rows than this.
            "spark.sql.autoBroadcastJoinThreshold": "2000",
            "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": reuse,
        }
        if rng.random() < 0.1:
            drawn["spark.sql.autoBroadcastJoinThreshold"] = "-1"
        if rng.random() < 0.05:
            drawn["spark.sql.sources.v2.bucketing.enabled"] = "true"
            drawn["spark.sql.iceberg.planning.preserve-data-grouping"] = "true"
        return drawn

    def _format(self, sql: str, source: Source) -> str:
        case, rng = self.made.case, self.rng
        number = rng.randint(case.scale.low, case.scale.high)
        literal = values.literal(values.value(case.type, number, case.scale), case.type)
        columns, told = _inserted(self.made)
        return sql.format(
            f=source.relation,
            t=source.relation,
            k=source.key,
            d=self.dimension.sql_name,
            g=rng.choice(["d.g = 0", "d.g = 0", "d.g = 0", "d.g <= 1", "d.g IN (0, 2)"]),
            literal=literal or source.key,
            columns=columns,
            values=told,
        )


def _inserted(made: RandomTable) -> tuple[str, str]:
    """The columns of the table, and what a MERGE inserts."""
    told = {"id": "s.w + 1000000", "k": "s.k", "m": "s.m", "v": "1"}
    columns = made.table.schema().fields
    inner = {
        each.name: ", ".join(f"'{one.name}', {told.get(one.name, '1')}" for one in each.type.fields)
        for each in columns
        if isinstance(each.type, Struct)
    }
    given = [f"named_struct({inner[each.name]})" if each.name in inner else told[each.name] for each in columns]
    return ", ".join(each.name for each in columns), ", ".join(given)


def _reason(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if not line.strip().startswith(("at ", "..."))]
    return " ".join(lines)[:600]


def _some(rows: Counter[str]) -> str:
    return "; ".join(list(rows)[:4])[:600]


def failures(spark: SparkSession) -> list[str]:
    """The failures of join pruning since the last call, which it does not let a query see."""
    jvm: Any = spark.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    field = loader.loadClass("io.icebergzorder.spark.joins.JoinPruning").getDeclaredField("WARNED")
    field.setAccessible(True)
    warned = field.get(None)
    found = [str(each) for each in warned if "cannot be changed" in each]
    warned.clear()
    return found


def leaves_of(plan: JavaObject) -> Iterator[JavaObject]:
    """The scans of an executed plan, those of finished stages and of what gives them keys among them."""
    leaves = plan.collectLeaves()
    for place in range(leaves.size()):
        leaf = leaves.apply(place)
        name = leaf.getClass().getSimpleName()
        if name == "AdaptiveSparkPlanExec":
            yield from leaves_of(leaf.executedPlan())
        elif name.endswith("QueryStageExec"):
            yield from leaves_of(leaf.plan())
        elif name == "CommandResultExec":
            yield from leaves_of(leaf.commandPhysicalPlan())
        elif name == "BatchScanExec":
            yield leaf
            filters = leaf.runtimeFilters()
            subqueries = [filters.apply(place).child() for place in range(filters.size())]
            for each in subqueries:
                if each.getClass().getSimpleName() == "InSubqueryExec":
                    yield from leaves_of(each.plan().child())


def skipped_files(query: DataFrame) -> list[int]:
    """How many files joins have skipped, by scan that counts them."""
    found = [
        leaf.metrics().get("filesSkippedByJoins") for leaf in leaves_of(query._jdf.queryExecution().executedPlan())
    ]
    return [int(each.get().value()) for each in found if each.isDefined()]
