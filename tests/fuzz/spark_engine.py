"""The Spark engine, as the checks call it: a CALL on a table that other engines have made."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from iceberg_zorder.rewrite.result import RewriteResult
from tests.fuzz.disturbances import Disturbances
from tests.fuzz.engines import RIGHTLY_REFUSED, Outcome
from tests.fuzz.histories import Lake
from tests.fuzz.requests import Request
from tests.spark.tables import CATALOG, Table

_CONFLICTS = ("conflict", "Cannot commit", "Found new", "Missing required files", "is more than the maximum allowed")
"""Words of the errors by which a rewrite gives way to others."""


@dataclass
class Spark:
    """The Spark engine in a session, whose catalog is a database of SQLite."""

    session: SparkSession
    lake_dir: Path
    has_signed_uuids: bool = True
    longest_wait: float = 1.0  # seconds before others commit

    def rewrite(self, lake: Lake, request: Request, disturbances: Disturbances) -> Outcome:
        """Make the table known to Spark, and rewrite it; what others do comes at some time meanwhile."""
        history = lake.history
        name = f"db.fuzz_{uuid.uuid4().hex}"
        location = history.table.refresh().metadata_location
        self.session.sql(
            f"CALL {CATALOG}.system.register_table(table => '{name}', metadata_file => '{location}')"
        ).collect()
        properties = {"uri": f"sqlite:///{self.lake_dir}/catalog.db", "warehouse": f"file://{self.lake_dir}/warehouse"}
        try:
            with SqlCatalog(CATALOG, **properties) as catalog, ThreadPoolExecutor(1) as pool:
                history.table = catalog.load_table(name)
                called = pool.submit(self._call, Table(self.session, name), request, history.branch)
                self._disturb(disturbances)
                outcome = self._outcome(disturbances, called.result())
                # The checks go on without this catalog.
                lake.catalog.store.adopt(history.table.refresh())
                history.table = history.catalog.load_table(("db", "t"))
        finally:
            self.session.sql(f"DROP TABLE {CATALOG}.{name}").collect()
        return outcome

    def _disturb(self, disturbances: Disturbances) -> None:
        rng, history = disturbances.history.rng, disturbances.history
        for operation in disturbances.planned.values():
            time.sleep(rng.uniform(0, self.longest_wait))
            history.log.append(f"-- meanwhile: {operation.__name__}")
            disturbances.done.append(operation.__name__)
            try:
                operation()
            except CommitFailedException as error:
                history.log.append(f"   it failed: {error}")

    def _call(self, table: Table, request: Request, branch: str) -> Row | Exception:
        arguments = {} if branch == "main" else {"branch": branch}
        try:
            return table.call(request.columns, options={"rewrite-all": "false", **request.options}, **arguments)
        except (PySparkException, Py4JJavaError) as error:
            return error

    def _outcome(self, disturbances: Disturbances, answer: Row | Exception) -> Outcome:
        if isinstance(answer, Row):
            counts = {name: answer[name] for name in answer.asDict()}
            return Outcome(RewriteResult(**counts, message="" if not answer[0] else None))
        text = "\n".join(line for line in str(answer).splitlines() if not line.strip().startswith(("at ", "...")))
        explained = any(each in text for each in RIGHTLY_REFUSED)
        if disturbances.done:
            explained = explained or any(each in text for each in _CONFLICTS)
        if not explained:
            raise AssertionError(f"the CALL failed: {text[:1500]}")
        return Outcome(None, RuntimeError(text[:300]))
