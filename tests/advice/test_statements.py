"""What is to be pasted for cuts from a workload: where the workload lies, and what writes it there."""

import gzip
from dataclasses import replace
from pathlib import Path

from iceberg_zorder.advice.facts import TableFacts, WorkloadFiles
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.advice.statements import named_workload, rewrite_command, rewrite_statement

TABLE = TableFacts("lake", ("db", "t"), 1, 9, 99, 11, {"sample-rows": "9"})
MANY = [JudgedQuery(f"s = 'it''s {number}'", 1.0, (), ()) for number in range(60)]
JSON = '{"version": 1, "queries": [{"filter": "a = 1", "weight": 1}]}'


def test_files_that_rewrites_read_are_named_and_others_are_written_first(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("w.json", "w.json.gz", "q.sql")}
    paths["w.json"].write_text(JSON)
    paths["w.json.gz"].write_bytes(gzip.compress(JSON.encode()))
    paths["q.sql"].write_text("SELECT 1;")
    to = str(Path("workload.json").absolute())
    for names, is_json in (
        (["w.json"], True),
        (["w.json.gz"], False),
        (["q.sql"], False),
        (["w.json", "q.sql"], False),
    ):
        files = WorkloadFiles.of([paths[name] for name in names], None, **{"as-of": None, "dialect": "spark"})
        assert files.is_json == is_json, names
        named = named_workload(replace(TABLE, workload=files), MANY)
        assert named.option == (str(paths["w.json"]) if is_json else to)
        read = " ".join(f"--from {paths[name]}" for name in names)
        written = f"iceberg-zorder workload db.t {read} --dialect spark --to {to} --catalog lake"
        assert named.preparation == (None if is_json else written)
    (tmp_path / "one").mkdir()
    inside = tmp_path / "one" / "w.json"
    inside.write_text(JSON)
    assert WorkloadFiles.of([inside.parent]).files == (str(inside),)


def test_a_short_workload_stands_in_the_statement() -> None:
    named = named_workload(TABLE, MANY[:2])
    assert named.preparation is None
    statement = rewrite_statement(TABLE, "zorder(s)", named.option)
    assert r"""'workload', '{"version": 1, "queries": [{"filter": "s = \'it\'\'s 0\'", "weight": 1.0}, """ in statement
    command = rewrite_command(TABLE, "zorder(s)", named.option)
    assert command.startswith(
        "iceberg-zorder rewrite db.t --by 'zorder(s)' --option rewrite-all=true --option 'workload={"
    )
    assert "pathlib.Path" in (named_workload(TABLE, MANY).preparation or "")


def test_columns_alone_are_not_cut_for_a_workload_that_the_table_remembers() -> None:
    remembering = replace(TABLE, remembers_workload=True)
    assert "map('rewrite-all', 'true', 'workload', '', 'sample-rows', '9')" in rewrite_statement(
        remembering, "zorder(s)"
    )
    assert "workload" not in rewrite_statement(TABLE, "zorder(s)")
