"""Equality deletes of one partition spec conflict with rewrites of files of another."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.errors import RewriteConflictError
from tests.pyiceberg.committing import (
    commit,
    commit_files,
    equality_deletes,
    files_of,
    head_id,
    make_catalog,
    make_table,
    new_file,
    rewritten,
    rows_of,
)


def test_an_equality_delete_of_the_unpartitioned_spec_conflicts_with_newer_files(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, SqlCatalog)
    table = make_table(catalog, rows_of([1, 2, 3]), partitioned=True)
    start = head_id(table)
    replacement = rewritten(table, files_of(table), spec_id=1, partition=["a"])
    everywhere = equality_deletes(table, [2], spec_id=0)
    commit_files(table, everywhere, new_file(table, rows_of([2]), spec_id=1, partition=["a"]))
    with pytest.raises(RewriteConflictError, match="equality delete file .* was added"):
        commit(table, replacement, start, use_starting_sequence_number=False)
    catalog.close()
