"""Data flows one way, and so do the imports: layout -> rewrite -> sort -> engines -> command line."""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "iceberg_zorder"

# Each room may import from rooms before it, and from none after or beside it.
STAGES = [
    {"errors", "printable", "figures", "displayed"},
    {"layout", "sample"},
    {"rewrite"},
    {"metrics", "sort", "workload"},
    {"advice", "select"},
    {"maintain.policy"},
    {"maintain"},
    {"pyiceberg.compat"},
    {"pyiceberg.deletion_vectors", "pyiceberg.files"},
    {"pyiceberg.row_lineage"},
    {"pyiceberg.catalog"},
    {"pyiceberg.commit"},
    {"pyiceberg.bounds"},
    {"pyiceberg.read", "pyiceberg.write"},
    {"pyiceberg.partitions"},
    {"pyiceberg.listing"},
    {"pyiceberg.plan"},
    {"pyiceberg.group_rewrite", "pyiceberg.outcome", "pyiceberg.translation"},
    {"pyiceberg.run"},
    {"pyiceberg.append", "pyiceberg.reporting", "pyiceberg.rewrite"},
    {"pyiceberg.undo"},
    {"pyiceberg.maintain"},
    {"pyiceberg"},
    {"spark"},
    {"passes", "render"},
    {"airflow", "cli"},
    {"__main__"},
]
STAGE_OF = {room: stage for stage, rooms in enumerate(STAGES) for room in rooms}
# Spark's tables are reported on by the measures of PyIceberg's.
BUILDS_ON = {"spark": {"pyiceberg"}}
# The only way up: how a result is shown is looked up when it is shown.
WAY_UP = ("displayed", "render.display")
ENGINES = {"pyspark": "spark", "py4j": "spark", "pyiceberg": "pyiceberg", "airflow": "airflow"}
CORE = {
    "advice",
    "errors",
    "printable",
    "figures",
    "displayed",
    "layout",
    "sample",
    "rewrite",
    "metrics",
    "select",
    "sort",
    "workload",
}
CORE_MAY_IMPORT = {
    "numpy",
    "pyarrow",
    "pydantic",
    "rich.filesize",
    "sqlglot",
    "iceberg_zorder",
} | sys.stdlib_module_names

FILES = sorted(file for file in PACKAGE.rglob("*.py") if file != PACKAGE / "__init__.py")
NAMES = {file: ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__") for file in FILES}


def room(module: str) -> str:
    """The room that a module is in: the longest beginning of its name that is one."""
    parts = module.split(".")
    return next(name for end in range(len(parts), 0, -1) if (name := ".".join(parts[:end])) in STAGE_OF)


def imports(file: Path) -> set[str]:
    """All modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            found.add(node.module)
    return found


def own(module: str, imported: set[str]) -> set[str]:
    """Those of this package, without its name, but for the way up."""
    found = {name.partition(".")[2] for name in imported if name.startswith("iceberg_zorder.")}
    return {name for name in found if (module, name) != WAY_UP}


def faults(module: str, imported: set[str]) -> list[str]:
    mine = room(module)
    engine = mine.partition(".")[0]
    found = []
    for name in own(module, imported):
        if room(name) != mine and STAGE_OF[room(name)] >= STAGE_OF[mine]:
            found.append(f"{module} imports {name}, which comes after it")
        others = set(ENGINES.values()) - {engine} - BUILDS_ON.get(engine, set())
        if engine in ENGINES.values() and name.partition(".")[0] in others:
            found.append(f"{module} imports {name}, which is another engine's")
    for name in imported:
        top = name.partition(".")[0]
        if ENGINES.get(top, engine) != engine:
            found.append(f"{module} imports {name}, which only {ENGINES[top]} may")
        if mine in CORE and not {top, name} & CORE_MAY_IMPORT:
            found.append(f"{module} imports {name}, which is no part of the core")
    return found


def test_imports_go_one_way() -> None:
    assert [fault for file in FILES for fault in faults(NAMES[file], imports(file))] == []


def test_a_wrong_import_is_noticed() -> None:
    assert faults("layout.keys", {"iceberg_zorder.sort.spill"})
    assert faults("layout.layout", {"pyspark.sql"})
    assert faults("pyiceberg.read.reader", {"iceberg_zorder.pyiceberg.plan.planner"})
    assert faults("pyiceberg.rewrite", {"iceberg_zorder.spark.session"})
    assert faults("sort.spill", {"pyiceberg.table"})
    assert faults("cli.app", {"pyiceberg.catalog"})
    assert faults("layout.boundaries", {"rich"})
    assert faults("rewrite.result", {"iceberg_zorder.render.display"})
    assert faults("maintain.policy.read", {"iceberg_zorder.pyiceberg.rewrite"})
    assert faults("maintain.policy.read", {"pyiceberg.catalog"})
    assert faults("passes", {"airflow.sdk"})
    assert faults("cli.app", {"iceberg_zorder.airflow"})
    assert not faults("cli.app", {"iceberg_zorder.pyiceberg.rewrite", "rich", "iceberg_zorder.errors"})


def test_no_modules_import_each_other_in_a_circle() -> None:
    # Raises what is in the circle.
    TopologicalSorter({NAMES[file]: own(NAMES[file], imports(file)) for file in FILES}).prepare()
