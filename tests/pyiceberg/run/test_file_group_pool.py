"""Several file groups at a time: within one limit, committed as they are done, and nothing is left of what fails."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.pyiceberg import group_rewrite, rewrite_data_files, run
from iceberg_zorder.pyiceberg.group_rewrite import RewriteContext, rewrite_group
from iceberg_zorder.sort.memory_budget import MemoryBudget
from tests.pyiceberg.committing import BY_FILES, ids, on_disk
from tests.pyiceberg.lake import table_of

PARTITIONS, FILES, ROWS = 6, 2, 60_000
SCHEMA = pa.schema([("p", pa.int32()), ("a", pa.int64()), ("id", pa.int64())])


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    ids, values = np.arange(ROWS), np.random.default_rng(5).integers(0, 1 << 40, ROWS)
    rows = pa.table([(ids % PARTITIONS).astype(np.int32), values, ids], schema=SCHEMA)
    return table_of(catalog, rows, FILES, by="p", properties=BY_FILES)


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "available_cores", lambda: 4)


class Observed:
    """Counts the file groups that are rewritten at a time, and has them wait until there are as many as expected."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, expected: int = 4) -> None:
        self.running = self.most = 0
        self._expected, self._reached = expected, threading.Event()
        self.threads: set[int] = set()
        self._lock = threading.Lock()
        monkeypatch.setattr(group_rewrite, "rewrite_group", self)

    def __call__(self, context: RewriteContext, group: Any, layout: Any) -> Any:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.threads.add(context.threads)
            if self.most >= self._expected:
                self._reached.set()
        try:
            self.before(group)
            return rewrite_group(context, group, layout)
        finally:
            with self._lock:
                self.running -= 1

    def before(self, group: Any) -> None:
        assert self._reached.wait(60)


def test_all_share_one_limit(table: Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    budgets: list[MemoryBudget] = []
    original = MemoryBudget.__init__

    def recorded(self: MemoryBudget, limit: int) -> None:
        original(self, limit)
        budgets.append(self)

    monkeypatch.setattr(MemoryBudget, "__init__", recorded)
    monkeypatch.setattr("iceberg_zorder.rewrite.options.SMALLEST_MEMORY_LIMIT", 200_000)
    observed = Observed(monkeypatch)
    home = tmp_path / "spill"
    options: dict[str, Any] = {
        "rewrite-all": True,
        "memory-limit-bytes": 800_000,
        "spill-directory": str(home),
        "partial-progress.enabled": True,
    }
    rewrite_data_files(table, ["a"], options=options)
    assert observed.most > 1
    assert ids(table) == list(range(ROWS))
    peak = max(budget.peak for budget in budgets if budget.limit == 400_000)
    # Some rows were on disk, and none of the groups took more than was left by the others.
    assert 200_000 < peak <= 400_000 * 1.01
    assert all(budget.used == 0 for budget in budgets)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("partial", [False, True])
def test_a_failure_among_several(table: Table, monkeypatch: pytest.MonkeyPatch, partial: bool) -> None:
    before = on_disk(table)

    class Failing(Observed):
        def before(self, group: Any) -> None:
            super().before(group)
            if group.partition[0] == 1:
                raise OSError("disk on fire")

    Failing(monkeypatch)
    options = {"rewrite-all": True, "partial-progress.enabled": partial}
    if partial:
        result = rewrite_data_files(table, ["a"], options=options)
        assert (result.failed_data_files_count, result.rewritten_data_files_count) == (2, 10)
        assert len(on_disk(table) - before) == PARTITIONS - 1
    else:
        with pytest.raises(RewriteFailedError, match="because a file group failed: disk on fire. Nothing was comm"):
            rewrite_data_files(table, ["a"], options=options)
        assert on_disk(table) == before
    assert ids(table) == list(range(ROWS))


def test_an_interrupt_ends_all(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the files that are finished, of those that are being written, and of the next nothing is left."""
    before, steps = on_disk(table), iter(range(100))
    observed = Observed(monkeypatch)

    def interrupt(stage: str, rows: int, size: int, /) -> None:
        if stage == "write" and next(steps) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rewrite_data_files(table, ["a"], options={"rewrite-all": True}, progress=interrupt)
    assert observed.running == 0
    assert on_disk(table) == before
    assert ids(table) == list(range(ROWS))
