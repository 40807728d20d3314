"""The benchmark of growing trees: both languages grow the same one, and other trees are no figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.growing import __main__ as bench


def test_both_languages_are_measured_on_the_same_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.compile_into(tmp_path)
    found = bench.measured("calls", 4_000, 20, 3, tmp_path)
    assert found.columns in (1, 2, 3)
    assert min(found.numpy, found.first, found.warm) > 0
    shown = bench.page([found, replace(found, name="other")], 4_000, 20)
    assert f"| other | {found.columns} | {found.numpy:.2f} | {found.first:.2f} | {found.warm:.2f} |" in shown
    monkeypatch.setattr(bench, "_text", lambda _: "0:1")
    with pytest.raises(ValueError, match="Cannot compare the times of calls, because Java has grown another tree"):
        bench.measured("calls", 4_000, 20, 2, tmp_path)
