"""Data flows one way, and so do the imports: columns -> sample -> boundaries -> positions -> layout -> engines -> cli."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "iceberg_zorder"

# Each stage may import from stages before it, and from nothing after or beside it.
STAGES = [
    {"errors"},
    {"layout", "request"},
    {"report", "rows"},
    {"spark", "pyiceberg"},
    {"cli"},
]
STAGE_OF = {module: stage for stage, modules in enumerate(STAGES) for module in modules}
ENGINES = {"pyspark": "spark", "py4j": "spark", "pyiceberg": "pyiceberg"}
CORE_MAY_IMPORT = {"numpy", "pyarrow", "iceberg_zorder"} | sys.stdlib_module_names

FILES = sorted(file for file in PACKAGE.rglob("*.py") if file != PACKAGE / "__init__.py")


def room(file: Path) -> str:
    """The module, or the subpackage that it is in."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


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


def faults(file_room: str, imported: set[str]) -> list[str]:
    found = []
    for name in imported:
        top, *rest = name.split(".")
        known = (
            top == "iceberg_zorder" and rest and rest[0] != file_room and {file_room, rest[0]} != {"layout", "request"}
        )
        if known and STAGE_OF[rest[0]] >= STAGE_OF[file_room]:
            found.append(f"{file_room} imports {name}, which comes after it")
        if ENGINES.get(top, file_room) != file_room:
            found.append(f"{file_room} imports {name}, which only {ENGINES[top]} may")
        if STAGE_OF[file_room] < STAGE_OF["spark"] and top not in CORE_MAY_IMPORT:
            found.append(f"{file_room} imports {name}, which is no part of the core")
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_go_one_way(file: Path) -> None:
    assert faults(room(file), imports(file)) == []


def test_a_wrong_import_is_noticed() -> None:
    assert faults("layout", {"iceberg_zorder.rows.spill"})
    assert faults("layout", {"pyspark.sql"})
    assert faults("cli", {"pyiceberg.catalog"})
    assert faults("rows", {"rich"})


def test_importing_the_package_and_its_core_starts_no_engine() -> None:
    program = "import sys, iceberg_zorder, iceberg_zorder.layout.layout_json, iceberg_zorder.cli.app; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "'numpy'" in loaded
    assert "'pyspark'" not in loaded
    assert "'pyiceberg'" not in loaded
