"""The engine that works in this process, as the checks call it."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol
from unittest.mock import patch

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, RewriteFailedError
from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.rewrite.result import RewriteResult
from tests.fuzz.disturbances import Disturbances
from tests.fuzz.histories import NAME, Lake
from tests.fuzz.requests import Request

RIGHTLY_REFUSED = (
    "is partitioned by every one of these columns",
    "would lose data",
    "memory-limit-bytes leaves",
)
"""Words of errors that a random table may well cause."""


@dataclass(frozen=True)
class Outcome:
    """What a rewrite has said: its result, or an error that is right under the circumstances."""

    result: RewriteResult | None
    failure: Exception | None = None

    def __str__(self) -> str:
        return str(self.result or self.failure)


class Engine(Protocol):
    """Rewrites the table of a lake."""

    has_signed_uuids: bool
    """Whether it puts UUIDs of partitions in the order of signed numbers."""

    def rewrite(self, lake: Lake, request: Request, disturbances: Disturbances) -> Outcome:
        """Rewrite; errors that nothing explains are raised."""


class PyIceberg:
    """The PyIceberg engine."""

    has_signed_uuids = False

    def rewrite(self, lake: Lake, request: Request, disturbances: Disturbances) -> Outcome:
        """Rewrite in this process, with room for spilled rows inside the lake."""
        table = lake.catalog.load_table(NAME)
        lake.catalog.pass_by = disturbances.pass_by
        spill = lake.directory / "spill"
        spill.mkdir(exist_ok=True)
        try:
            with small_limits(request.small) as options, patch.object(tempfile, "tempdir", str(spill)):
                result = rewrite_data_files(
                    table,
                    request.columns,
                    options=request.options | options,
                    where=request.where,
                    branch=lake.history.branch,
                    progress=lambda stage, rows, size: disturbances.pass_by(stage),
                )
        except (InvalidInputError, RewriteFailedError) as error:
            changed = {"change_schema", "change_spec"} & set(disturbances.done)
            explained = (
                (isinstance(error, RewriteConflictError) and disturbances.done)
                or (isinstance(error, InvalidInputError) and changed)
                or any(each in str(error) for each in RIGHTLY_REFUSED)
                or ("no file group could" in str(error) and (lake.history.has_nanoseconds or "memory" in request.small))
            )
            if not explained:
                raise
            return Outcome(None, error)
        return Outcome(result)


@contextmanager
def small_limits(small: Mapping[str, int]) -> Iterator[dict[str, str]]:
    """Lower limits of the engine, so that tables of some hundred rows pass them; yields options to add."""
    with ExitStack() as stack:
        options = {}
        for name, value in small.items():
            if name == "memory":
                stack.enter_context(patch("iceberg_zorder.rewrite.options.SMALLEST_MEMORY_LIMIT", 1))
                options["memory-limit-bytes"] = str(value)
            else:
                stack.enter_context(patch(name, value))
        yield options
