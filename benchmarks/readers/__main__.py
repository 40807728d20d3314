"""Ask every reader, and write the figures and the table of ``docs/readers.md``. ``make bench-readers``."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.readers.measure import READERS, TRINO, Tables, ask
from benchmarks.readers.page import FIGURES, PAGE, with_table
from benchmarks.readers.queries import QUERIES
from benchmarks.readers.tables import FILES, make_tables


def main() -> None:
    """Measure, and write."""
    if not TRINO.is_dir():
        sys.exit(f"Cannot ask Trino, because {TRINO} is not there: see the Makefile")
    with tempfile.TemporaryDirectory() as directory:
        make_tables(Path(directory).resolve())
        tables = Tables(Path(directory).resolve())
        needed = {query.name: tables.right(query) for query in QUERIES}
        readers = {}
        for reader in READERS:
            version, answers = ask(reader, tables, QUERIES)
            named = zip(QUERIES, answers, strict=True)
            readers[reader] = {"version": version, "answers": {query.name: asdict(answer) for query, answer in named}}
            sys.stderr.write(f"{READERS[reader]} {version}\n")
    figures = {
        "files": FILES,
        "sql": {query.name: query.sql for query in QUERIES},
        "needed": {name: asdict(answer) for name, answer in needed.items()},
        "readers": readers,
    }
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
