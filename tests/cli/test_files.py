"""Files that commands write, on disks that are full."""

from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog

from iceberg_zorder.cli.files import replace_text
from tests.cli.processes import run_without_spark
from tests.disks import files_of_at_most


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path) -> None:
    path, link = tmp_path / "w.json", tmp_path / "link.json"
    link.symlink_to(path)
    path.write_text("old")
    with files_of_at_most(1000), pytest.raises(OSError, match=r"Cannot write --to .*link.json, because File too large"):
        replace_text(link, "new" * 1000, flag="--to")
    assert path.read_text() == "old"
    replace_text(link, "new", flag="--to")
    assert (path.read_text(), link.is_symlink()) == ("new", True)
    assert sorted(tmp_path.iterdir()) == [link, path]


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("workload", ("--from", "q.sql", "--to")),
        ("report", ("--by", "ts", "--html")),
        ("advise", ("--workload", "q.sql", "--html")),
    ],
)
def test_a_full_disk_is_a_failure(
    home: Path,
    catalog: Catalog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.sql").write_text("SELECT * FROM events WHERE ts = 1")
    done = run_without_spark(home, "db.events", *arguments, "/dev/full", "--quiet", command=command)
    why = f"Error: Cannot write {arguments[-1]} /dev/full, because No space left on device\n"
    assert (done.returncode, done.stderr) == (1, why)
