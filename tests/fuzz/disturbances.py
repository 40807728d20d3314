"""What other engines do to a table while it is rewritten, at chosen points of the rewrite."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pyiceberg.table.update import AssertTableUUID, RemoveSnapshotsUpdate

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg import rewrite_data_files
from tests.fuzz.histories import History

_POINTS = {"load": 4, "commit": 3, "plan": 1, "sample": 4, "read": 6, "write": 8}
"""Where something may happen, and up to which time a rewrite passes there."""


@dataclass
class Disturbances:
    """Operations of others that are carried out when a rewrite passes certain points."""

    history: History
    planned: dict[tuple[str, int], Callable[[], None]] = field(default_factory=dict)  # by the point and the passing
    done: list[str] = field(default_factory=list)
    _passed: Counter[str] = field(default_factory=Counter)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _busy: bool = False

    @classmethod
    def draw(cls, rng: random.Random, history: History) -> Disturbances:
        """Draw up to three operations, two of them sometimes at once."""
        made = cls(history)
        operations = [history.append, history.change_schema, history.change_spec, made.expire, made.rewrite]
        if history.version > 1:
            operations += [history.delete_equal] * 4 + [history.delete_positions] * 4 + [history.upsert] * 2
            operations += [history.overwrite] * 3 + [history.merge_deletes, history.revive]
        for _ in range(rng.choice([1, 1, 1, 2, 3, 5])):
            point = rng.choice([*sorted(_POINTS), "commit", "commit", "write"])
            made.planned[point, rng.randint(1, _POINTS[point])] = rng.choice(operations)
        return made

    def pass_by(self, point: str) -> None:
        """Note that the rewrite passes a point, and do what is planned there."""
        with self._lock:
            if self._busy:
                return
            self._passed[point] += 1
            operation = self.planned.get((point, self._passed[point]))
            if operation is None:
                return
            self._busy = True
            try:
                self.history.log.append(f"-- at {point} {self._passed[point]}: {operation.__name__}")
                operation()
                self.done.append(operation.__name__)
            finally:
                self._busy = False

    def expire(self) -> None:
        """Expire all snapshots but the heads of branches."""
        table = self.history.table.refresh()
        heads = {ref.snapshot_id for ref in table.refs().values()}
        old = [each.snapshot_id for each in table.metadata.snapshots if each.snapshot_id not in heads]
        if old:
            update = RemoveSnapshotsUpdate.model_validate({"snapshot-ids": old})
            table.catalog.commit_table(table, (AssertTableUUID(uuid=table.metadata.table_uuid),), (update,))

    def rewrite(self) -> None:
        """Rewrite the same files, as another process does."""
        table = self.history.table.refresh()
        try:
            rewrite_data_files(table, "id", options={"rewrite-all": True}, branch=self.history.branch)
        except (InvalidInputError, RewriteFailedError) as error:
            self.history.log.append(f"   the other rewrite failed: {error}")
