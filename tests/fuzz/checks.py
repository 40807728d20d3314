"""What must hold after a rewrite, whoever reads the table, and whatever happened meanwhile."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iceberg_zorder.rewrite.result import RewriteResult
from tests.fuzz import filters
from tests.fuzz.disturbances import Disturbances
from tests.fuzz.engines import Engine, PyIceberg
from tests.fuzz.histories import Lake
from tests.fuzz.model import ADDED, DATA, DELETED, FileRows, Metadata, local, rows_of
from tests.fuzz.readers import Duck, disagreements
from tests.fuzz.requests import Request
from tests.fuzz.statistics import check_file, check_manifest, check_totals


@dataclass
class Check:
    """One rewrite, and what is compared before and after it."""

    lake: Lake
    request: Request
    disturbances: Disturbances
    engine: Engine = field(default_factory=PyIceberg)
    readers: Sequence[Duck] = ()

    def run(self, rng: random.Random) -> list[str]:
        """Rewrite, and list what is wrong."""
        history = self.lake.history
        before = history.read()
        known = set(self._snapshots())
        base = {entry.entry.path for entry in before}
        files = _data_paths(self.lake.directory)
        outcome = self.engine.rewrite(self.lake, self.request, self.disturbances)
        history.log.append(f"result: {outcome}")
        snapshots = self._snapshots()
        new = [each for key, each in snapshots.items() if key not in known and _is_replace(each)]
        after = history.read()
        complaints = [*self._check_outcome(outcome.result, base, {each.entry.path for each in after})]
        for each in new:
            complaints += self._check_snapshot(*each, rng, before)
        complaints += self._check_leftovers(snapshots, files)
        complaints += self._check_readers(rng, after)
        return complaints

    def _check_readers(self, rng: random.Random, files: list[FileRows]) -> Iterator[str]:
        history = self.lake.history
        schema, location = history.metadata.schema, history.table.metadata_location
        for reader in self.readers:
            # What is deleted by finer values than a column has is a reader's own affair: Spark cuts them to the column's.
            can_read = not history.has_finer_deletes and reader.can_read(schema, history.entries())
            if history.branch == "main" and can_read:
                history.log.append("read by DuckDB")
                yield from disagreements(reader, location, schema, files, filters.draw(rng, schema, files, 6))

    def _snapshots(self) -> dict[int, tuple[Metadata, dict[str, Any]]]:
        """All snapshots that the table ever had, and the metadata in which each came first."""
        found: dict[int, tuple[Metadata, dict[str, Any]]] = {}
        history = self.lake.history
        history.table.refresh()
        # Engines leave metadata beside it that they could not commit.
        log = history.metadata.json.get("metadata-log", [])
        for location in [*(each["metadata-file"] for each in log), history.table.metadata_location]:
            metadata = Metadata.load(location)
            for snapshot in metadata.json.get("snapshots", []):
                found.setdefault(snapshot["snapshot-id"], (metadata, snapshot))
        return found

    def _check_outcome(self, result: RewriteResult | None, base: set[str], after: set[str]) -> Iterator[str]:
        if result is None:
            return
        options = self.request.options
        if not result.rewritten_data_files_count and result.message is None and not result.failed_data_files_count:
            yield "nothing was rewritten, and nothing said of it"
        whole = (
            options.get("rewrite-all") == "true" and "max-files-to-rewrite" not in options and not self.request.where
        )
        tolerated = options.get("partial-progress.enabled") and self.disturbances.done
        if whole and not tolerated and not result.failed_data_files_count and (left := sorted(base & after)):
            yield f"{len(left)} data files were not rewritten, and the result does not say so: {left[0]}"

    def _check_snapshot(
        self, metadata: Metadata, snapshot: dict[str, Any], rng: random.Random, before: list[FileRows]
    ) -> Iterator[str]:
        model, schema = self.lake.model, metadata.schema
        parent = self._snapshots()[snapshot["parent-snapshot-id"]][1]
        old = model.read(metadata, parent["manifest-list"], schema)
        new = model.read(metadata, snapshot["manifest-list"], schema)
        rows, wanted = rows_of(new), rows_of(old)
        if rows != wanted:
            more, fewer = rows - wanted, wanted - rows
            yield f"rows changed: {sum(fewer.values())} lost, {sum(more.values())} new; lost {_some(fewer)} new {_some(more)}"
        manifests = model.manifests(metadata, snapshot["manifest-list"])
        own = snapshot["snapshot-id"]
        live_before = {entry.path for entry in model.live(metadata, parent["manifest-list"])}
        live = model.live(metadata, snapshot["manifest-list"])
        told = {e.path for m in manifests for e in m.entries if e.status == DELETED and e.snapshot_id == own}
        if told != live_before - {entry.path for entry in live}:
            yield f"the manifests say that {sorted(told)} were removed"
        if len({entry.path for entry in live}) != len(live):
            yield "a file is there twice"
        yield from check_totals(live, snapshot["summary"])
        for manifest in manifests:
            if manifest.listed.added_snapshot_id == own:
                yield from check_manifest(metadata, manifest, has_signed_uuids=self.engine.has_signed_uuids)
        added = [e for e in live if e.status == ADDED and e.snapshot_id == own and e.content == DATA]
        changed = "change_schema" in self.disturbances.done
        for entry in added:
            for complaint in [] if changed else check_file(model, metadata, entry, schema):
                yield f"{entry.path}: {complaint}"
        ours = [file for file in new if file.entry.path in {entry.path for entry in added}]
        drawn = filters.draw(rng, schema, [*old, *new])
        yield from filters.wrongly_skipped(drawn, ours)

    def _check_leftovers(
        self, snapshots: dict[int, tuple[Metadata, dict[str, Any]]], before: set[str]
    ) -> Iterator[str]:
        known: set[str] = set()
        for metadata, snapshot in snapshots.values():
            known |= {str(local(entry.path)) for entry in self.lake.model.live(metadata, snapshot["manifest-list"])}
        if left := sorted(_data_paths(self.lake.directory) - before - known):
            yield f"{len(left)} data files are left over: {left[0]}"
        if left := sorted(map(str, (self.lake.directory / "spill").glob("*"))):
            yield f"spilled rows are left over: {left[0]}"


def _is_replace(found: tuple[Metadata, dict[str, Any]]) -> bool:
    return bool(found[1]["summary"]["operation"] == "replace")


def _data_paths(directory: Path) -> set[str]:
    return {str(path) for path in (directory / "t" / "data").rglob("*") if path.is_file() and path.suffix != ".crc"}


def _some(rows: Any) -> str:
    shown = repr(list(rows)[:2])
    return shown if len(shown) < 400 else shown[:400] + "..."
