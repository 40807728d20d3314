"""Writers that stream into five tables, and maintenance beside them: ``python -m tests.soak.maintenance``.

The tables are in PostgreSQL and S3. Three writers append, upsert and delete, each in a process of its own, while
``iceberg-zorder maintain --watch`` keeps the tables up; or two of these, or ones that are killed and started again. In the end each row must be there once, in its newest version, as a plain
reader of the specification finds it, and nothing may lie in the bucket that no snapshot and no note of a table has.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from tests.soak.streams import TABLES, Journal, live_rows, make_tables, write
from tests.stack.servers import postgresql, seaweedfs

KINDS = ("append", "upsert", "delete")
TARGET = 2**18
LIMIT = 1.2
MIN_AGE = 5
KILL_AFTER = (2.0, 20.0)
_PASSES = 8
_COMMAND = Path(sys.executable).parent / "iceberg-zorder"


def policy(properties: Mapping[str, str]) -> dict[str, Any]:
    """The policy that the tables are kept up by: passes follow one another closely, and commits are small."""
    return {
        "version": 1,
        "catalogs": {"lake": dict(properties)},
        "interval": "5 s",
        "defaults": {
            "by": ["a", "b"],
            "options": {"target-file-size-bytes": TARGET, "min-age-seconds": MIN_AGE, "max-scan-ratio": LIMIT},
            "triggers": {
                "scan-ratio": LIMIT,
                "small-file-count": 10,
                "pos-delete-file-count": 5,
                "eq-delete-file-count": 5,
            },
            "conflicts": {"back-off": "5 s", "max-back-off": "20 s"},
        },
        "tables": {"db.*": {}},
    }


@dataclass
class Maintainer:
    """A process that keeps the tables up, which may be killed and started again."""

    directory: Path
    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    memory: list[tuple[float, int]] = field(default_factory=list)
    """When, and how many bytes of memory it had then."""

    def start(self) -> None:
        """Start it, or start it again."""
        with self.output.open("ab") as out, (self.directory / f"{self.name}.err").open("ab") as err:
            # SIGABRT has it say where it is.
            environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
            self.process = subprocess.Popen([*self.command], stdout=out, stderr=err, env=environment)

    @property
    def output(self) -> Path:
        """Where it writes its reports."""
        return self.directory / f"{self.name}.json"

    def sample(self) -> None:
        """Take note of its memory; it must not have ended by itself."""
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(
                f"{self.name} ended by itself, with exit code {self.process.returncode}: {self.errors()}"
            )
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        pages = [line for line in status.splitlines() if line.startswith("VmRSS")]
        self.memory.append((time.monotonic(), 1024 * int(pages[0].split()[1])))

    def kill(self) -> None:
        """Kill it where it is."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            raise AssertionError(f"{self.name} did not end: {self.errors(200)}") from None

    def errors(self, count: int = 20) -> str:
        """What it has said last of errors."""
        lines = (self.directory / f"{self.name}.err").read_text(encoding="utf-8").splitlines()
        return "\n".join([line for line in lines if not line.startswith("\tat ")][-count:])

    def passes(self) -> Iterator[dict[str, Any]]:
        """Read its reports; one that a kill has cut off is none."""
        if self.output.exists():
            for line in self.output.read_text(encoding="utf-8").splitlines():
                if line.startswith("{") and line.endswith("}"):
                    report = json.loads(line)
                    if "tables" in report:
                        yield report


@contextmanager
def lake(directory: Path) -> Iterator[dict[str, str]]:
    """PostgreSQL and S3; yields the properties of a catalog in both."""
    with postgresql() as database, seaweedfs(directory) as s3:
        files = {name: value for name, value in s3.items() if name.startswith(("s3.", "client.", "io-impl"))}
        files |= {"s3.region": "us-east-1"}
        yield {
            "type": "sql",
            "uri": f"postgresql+psycopg://postgres@{database}",
            "warehouse": "s3://warehouse/lake",
            **files,
        }


def stream(
    properties: Mapping[str, str], maintainers: Sequence[Maintainer], seconds: float, kills: int
) -> list[Journal]:
    """Let the writers write, with maintainers beside them, of which the first is killed so many times."""
    moments = random.Random(kills)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(KINDS), mp_context=context) as pool:
        writing = [pool.submit(write, properties, number, kind, seconds) for number, kind in enumerate(KINDS)]
        for each in maintainers:
            each.start()
        left, due = kills, time.monotonic() + moments.uniform(*KILL_AFTER)
        while _any_writes(writing) or left:
            time.sleep(0.5)
            if left and time.monotonic() >= due:
                maintainers[0].kill()
                maintainers[0].start()
                left, due = left - 1, time.monotonic() + moments.uniform(*KILL_AFTER)
                print(f"killed {kills - left} of {kills}", flush=True)
            for each in maintainers:
                each.sample()
        return [future.result() for future in writing]


def _any_writes(writing: Sequence[Future[Journal]]) -> bool:
    for future in writing:
        if future.done() and future.exception():
            raise AssertionError(f"a writer failed: {future.exception()}")
    return not all(future.done() for future in writing)


def check_rows(table: Table, name: str, journals: Sequence[Journal]) -> int:
    """Compare a table with what its writers remember; returns its rows."""
    expected = {id_: version for journal in journals for id_, version in journal.rows[name].items()}
    found = Counter((id_, version) for _, _, id_, version in live_rows(table))
    doubled = [row for row, count in found.items() if count > 1]
    lost, strange = set(expected.items()) - set(found), set(found) - set(expected.items())
    if doubled or lost or strange:
        raise AssertionError(
            f"{name}: {len(doubled)} rows twice, {len(lost)} lost, {len(strange)} strange of {len(expected)}, such as "
            f"{[*doubled, *lost, *strange][:3]}"
        )
    return len(expected)


def check_files(table: Table, name: str) -> int:
    """Look for files that are missing; returns how many of ours no snapshot knows."""
    known = set(table.inspect.all_files()["file_path"].to_pylist())
    fs, root = table.io.fs_by_scheme("s3", None), table.location().removeprefix("s3://")  # type: ignore[attr-defined]
    from pyarrow.fs import FileSelector

    there = {f"s3://{each.path}" for each in fs.get_file_info(FileSelector(root, recursive=True)) if each.is_file}
    if missing := known - there:
        raise AssertionError(f"{name}: {len(missing)} files are missing, such as {min(missing)}")
    return sum(path.endswith("-zorder.parquet") for path in there - known)


def check_snapshots(table: Table, name: str) -> Counter[str]:
    """Count rewrites and their bytes; none may rewrite what rewrites have written with nothing new beside it."""
    counts: Counter[str] = Counter()
    written_by: dict[str, int] = {}
    paths: set[str] = set()
    last_of_writers = 0
    for number, snapshot in enumerate(table.snapshots()):
        is_rewrite = snapshot.summary is not None and snapshot.summary.operation.value == "replace"
        now = {
            entry.data_file.file_path
            for manifest in snapshot.manifests(table.io)
            for entry in manifest.fetch_manifest_entry(table.io)
        }
        gone = paths - now
        if is_rewrite:
            counts["rewrites"] += 1
            assert snapshot.summary is not None
            counts["bytes"] += int(snapshot.summary["added-files-size"] or 0)
            if gone and all(written_by.get(path, -1) > last_of_writers for path in gone):
                raise AssertionError(
                    f"{name}: snapshot {snapshot.snapshot_id} rewrites what rewrites have just written"
                )
            written_by |= dict.fromkeys(now - paths, number)
        else:
            last_of_writers = number
        paths = now
    return counts


def settle(path: Path) -> tuple[int, list[str]]:
    """Run passes until nothing is left to do; returns how many, and what the last decision on each table was."""
    time.sleep(MIN_AGE + 1)
    for number in range(1, _PASSES + 1):
        found = subprocess.run([_COMMAND, "maintain", path, "--output", "json"], capture_output=True, check=False)
        if found.returncode:
            raise AssertionError(f"a pass failed: {found.stderr.decode()[-2000:]}")
        decided = json.loads(found.stdout)["tables"]
        if all(each["action"] == "leave" for each in decided):
            return number, [f"{each['table']}: {each['reason']}" for each in decided]
        time.sleep(MIN_AGE + 1)
    raise AssertionError(f"{_PASSES} passes without any writer left something to do: {decided}")


def soak(directory: Path, seconds: float, kills: int, count: int) -> None:
    """Run it, check it, and say what came of it."""
    with lake(directory) as properties:
        make_tables(properties)
        path = directory / "policy.yaml"
        path.write_text(yaml.safe_dump(policy(properties)), encoding="utf-8")
        command = [str(_COMMAND), "maintain", str(path), "--watch", "--output", "json"]
        maintainers = [Maintainer(directory, f"maintainer-{number}", command) for number in range(count)]
        try:
            journals = stream(properties, maintainers, seconds, kills)
            codes = [each.stop() for each in maintainers]
        finally:
            for each in maintainers:
                if each.process is not None and each.process.poll() is None:
                    each.kill()
        passes, decisions = settle(path)
        _tell(properties, maintainers, journals, kills)
        print(f"exit codes after SIGTERM: {codes}; {passes} more passes until nothing was left to do:")
        print("\n".join(decisions))


def _tell(
    properties: Mapping[str, str], maintainers: Sequence[Maintainer], journals: Sequence[Journal], kills: int
) -> None:
    catalog = load_catalog("lake", **properties)
    rows, left, rewrites = 0, 0, Counter[str]()
    for name in TABLES:
        table = catalog.load_table(name)
        rows += check_rows(table, name, journals)
        left += check_files(table, name)
        rewrites += check_snapshots(table, name)
    if left and not kills:
        raise AssertionError(f"{left} files were left without a kill")
    counts = sum((journal.counts for journal in journals), Counter[str]())
    commits = sum(counts.values()) - counts["conflicts"]
    appended = sum(journal.appended_bytes for journal in journals)
    print(f"{rows:,} rows in {len(TABLES)} tables, each once and in its newest version")
    print(
        f"writers: {commits} commits ({dict(counts)}), {counts['conflicts'] / commits:.3f} conflicts for each; none failed"
    )
    print(
        f"{rewrites['rewrites']} rewrites, {rewrites['bytes'] / appended:.2f} bytes rewritten for each appended; {left} noted files"
    )
    for each in maintainers:
        tables = [table for report in each.passes() for table in report["tables"]]
        outcomes = Counter(table["action"] + (" (conflict)" if table.get("conflict") else "") for table in tables)
        print(f"{each.name}: {dict(outcomes)} in {sum(1 for _ in each.passes())} passes")
        for error in sorted({table["error"] for table in tables if table["action"] == "failed"}):
            print(f"  failed: {error[:120]}")
        if not kills:
            _tell_memory(each)


def _tell_memory(each: Maintainer) -> None:
    """Compare the memory of the last third of the time with that of the second."""
    start, end = each.memory[0][0], each.memory[-1][0]
    thirds = [
        max(
            size
            for at, size in each.memory
            if start + (end - start) * n / 3 <= at <= start + (end - start) * (n + 1) / 3
        )
        for n in range(3)
    ]
    print(f"{each.name}: at most {', '.join(f'{size / 2**20:.0f}' for size in thirds)} MiB in each third of its time")
    if thirds[2] > 1.25 * thirds[1]:
        raise AssertionError(f"{each.name} takes more and more memory: {thirds}")


def main() -> int:
    """Run one soak; 0 if all was right in the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--maintainers", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-soak-") as name:
        soak(Path(name), arguments.seconds, arguments.kills, arguments.maintainers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
