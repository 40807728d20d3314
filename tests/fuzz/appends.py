"""One seed: a random table, rows that are appended to it while others may write, and all the checks."""

import random
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import AppendResult, append
from iceberg_zorder.pyiceberg.plan.append_plan import OPTIONS
from tests.fuzz import filters
from tests.fuzz.differential import WrongAnswerError, account
from tests.fuzz.engines import RIGHTLY_REFUSED, small_limits
from tests.fuzz.histories import NAME, History, Lake, lake
from tests.fuzz.model import ADDED, DATA, rows_of
from tests.fuzz.readers import Duck, disagreements
from tests.fuzz.requests import Request
from tests.fuzz.statistics import check_file, check_manifest, check_totals
from tests.fuzz.types import Struct, arrow_field, identity, to_arrow


def run(seed: int, directory: Path, *, readers: Sequence[Duck] = ()) -> str:
    """Make a table, append to it, and check all that can be told; return what was done."""
    rng = random.Random(seed)
    made = lake(rng, directory)
    history = made.history
    history.make(made.location)
    request = Request.draw(rng, history)
    try:
        complaints = [*_appended(rng, made, request, readers)]
    except Exception as error:
        complaints = ["".join(traceback.format_exception(error))]
    if complaints:
        raise WrongAnswerError(account(seed, history.log, complaints))
    return "\n".join(history.log)


def arrow_rows(rows: Sequence[tuple[Any, ...]], schema: Struct) -> pa.Table:
    """Return rows as Arrow, as a user has them: with the names of the columns, and ids that mean nothing."""
    fields = [arrow_field(each) for each in schema.fields]
    columns = [to_arrow([row[place] for row in rows], each.type) for place, each in enumerate(schema.fields)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _appended(rng: random.Random, made: Lake, request: Request, readers: Sequence[Duck]) -> Iterator[str]:
    history = made.history
    schema = history.metadata.schema
    rows = history.values.rows(schema, rng.choice([0, 1, 30, 300]))
    before, known = history.read(), {entry.path for entry in history.entries()}
    options = {name: value for name, value in request.options.items() if name in OPTIONS}
    size = rng.choice([None, 300, 1_000, 5_000])
    history.log.append(f"append {len(rows)} rows by {request.columns} with {options}, {request.small}, {size}")
    theirs = _Other(history, rng.random() < 0.3)
    given = arrow_rows(rows, schema)
    if rng.random() < 0.5:
        given = pa.RecordBatchReader.from_batches(given.schema, given.to_batches(rng.choice([1, 7, 1000])))
    spill = made.directory / "spill"
    spill.mkdir(exist_ok=True)
    try:
        with small_limits(request.small) as small, patch.object(tempfile, "tempdir", str(spill)):
            result = append(
                made.catalog.load_table(NAME),
                given,
                request.columns,
                options={**options, **small},
                branch=history.branch,
                file_bytes=size,
                progress=theirs.write,
            )
    except InvalidInputError as error:
        if not any(each in str(error) for each in RIGHTLY_REFUSED):
            raise
        history.log.append(f"refused: {error}")
        return
    history.log.append(f"result: {result}")
    history.table.refresh()
    after = history.read()
    wanted = rows_of(before) + Counter(map(identity, rows)) + theirs.rows
    if (found := rows_of(after)) != wanted:
        yield f"rows changed: {sum((wanted - found).values())} lost, {sum((found - wanted).values())} new"
    yield from _check_files(made, result, known, theirs, rows)
    drawn = filters.draw(rng, schema, after)
    yield from filters.wrongly_skipped(drawn, [file for file in after if file.entry.path not in known])
    for reader in readers:
        if history.branch == "main" and reader.can_read(schema, history.entries()) and not history.has_finer_deletes:
            yield from disagreements(
                reader, history.table.metadata_location, schema, after, filters.draw(rng, schema, after, 6)
            )


def _check_files(
    made: Lake, result: AppendResult, known: set[str], theirs: "_Other", rows: Sequence[Any]
) -> Iterator[str]:
    history, model = made.history, made.model
    metadata = history.metadata
    head = next(
        each
        for each in metadata.json["snapshots"]
        if each["snapshot-id"] == metadata.json["refs"][history.branch]["snapshot-id"]
    )
    manifests = model.manifests(metadata, head["manifest-list"])
    live = [
        entry for manifest in manifests for entry in manifest.entries if entry.content == DATA and entry.status == ADDED
    ]
    ours = [entry for entry in live if entry.path not in known | theirs.paths]
    counts = (
        len(ours),
        sum(each.file["record_count"] for each in ours),
        sum(each.file["file_size_in_bytes"] for each in ours),
    )
    told = result.added_data_files_count, result.added_records_count, result.added_bytes_count
    if counts != told or told[1] != len(rows):
        yield f"{counts} files, rows and bytes were added, and {told} told"
    yield from check_totals(model.live(metadata, head["manifest-list"]), head["summary"])
    for manifest in manifests:
        if manifest.listed.added_snapshot_id == head["snapshot-id"]:
            yield from check_manifest(metadata, manifest, has_signed_uuids=False)
    for entry in ours:
        for complaint in check_file(model, metadata, entry, metadata.schema):
            yield f"{entry.path}: {complaint}"
    on_disk = {str(path) for path in (made.directory / "t" / "data").rglob("*") if path.is_file()}
    listed = {each.path.removeprefix("file://") for each in history.entries()} | {
        path.removeprefix("file://") for path in known
    }
    if left := sorted(path for path in on_disk - listed if "zorder" in path):
        yield f"{len(left)} data files are left over: {left[0]}"
    if left := sorted(map(str, (made.directory / "spill").glob("*"))):
        yield f"spilled rows are left over: {left[0]}"


class _Other:
    """Another writer, who appends once while the rows are written."""

    def __init__(self, history: History, comes: bool) -> None:
        self._history, self._comes = history, comes
        self.rows: Counter[Any] = Counter()
        self.paths: set[str] = set()

    def write(self, stage: str, rows: int, size: int) -> None:
        if stage != "write" or not self._comes:
            return
        self._comes = False
        before, known = rows_of(self._history.read()), {entry.path for entry in self._history.entries()}
        self._history.append()
        self.rows = rows_of(self._history.read()) - before
        self.paths = {entry.path for entry in self._history.entries()} - known
        self._history.log.append("-- meanwhile: append")
