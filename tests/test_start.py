"""The pages under docs/start work without Spark, block by block, and print what they show; see test_readme for Spark."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.cli.processes import run_here
from tests.pages import PAGES, REPOSITORY, blocks_with_output, lines_of, masked

LAKE = "/tmp/lake"
"""Where the pages have their catalog, which the tests have elsewhere."""

PYTHON, COMMAND_LINE = "docs/start/python.md", "docs/start/command-line.md"


def run_python(page: str, lake: Path, capsys: pytest.CaptureFixture[str], until: str = "") -> dict[str, Any]:
    """Run a page's Python in one namespace, up to a heading."""
    names: dict[str, Any] = {}
    for language, block, shown in blocks_with_output(PAGES[page].partition(until or "\0")[0]):
        if language == "python":
            exec(compile(block.replace(LAKE, str(lake)), page, "exec"), names)
            assert masked(shown) in masked(capsys.readouterr().out)
    return names


def test_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_python(PYTHON, tmp_path, capsys)["catalog"].close()


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_python(PYTHON, tmp_path, capsys, until="\n## Plan first\n")["catalog"].close()
    commands = []
    for language, block, shown in blocks_with_output(PAGES[COMMAND_LINE]):
        if language == "yaml":
            (tmp_path / ".pyiceberg.yaml").write_text(block.replace(LAKE, str(tmp_path)), encoding="utf-8")
        for line in lines_of(block):
            if line.startswith("iceberg-zorder "):
                done = run_here(shlex.split(line)[1:], {"PYICEBERG_HOME": str(tmp_path), "COLUMNS": "80"})
                assert done.returncode == 0, done.stderr
                assert masked(shown) in masked(done.stdout)
                commands.append(line.split()[1])
    assert commands == ["plan", "rewrite", "report", "history", "undo", "set", "check"]


@pytest.mark.full
def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs, and says what its texts say; figures depend on the names of files."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    notebook: Any = nbformat.read(REPOSITORY / "docs/start/flights.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    stored = [[output.output_type for output in cell.get("outputs", [])] for cell in notebook.cells]
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell.get("outputs", []) for cell in notebook.cells]
    assert [[output.output_type for output in of_cell] for of_cell in outputs] == stored
    text = str(outputs)
    assert "zorder(dest, time_hour) (advised)" in text
    assert "time_hour pays for dest" in text
    before, after = map(int, re.findall(r"(\d+) -> (\d+) files: dest = 'MIA'", text)[0])
    assert after * 3 < before == 53
