"""Names of PyIceberg that are not public are used in iceberg_zorder/pyiceberg/compat.py, and nowhere else."""

import ast
import inspect
import re
from pathlib import Path

import pyiceberg.manifest
import pytest

PACKAGE = Path(__file__).parent.parent / "iceberg_zorder"
COMPAT = PACKAGE / "pyiceberg" / "compat.py"
# What PyIceberg's own documentation has users import; all else of it is its inside.
PUBLIC_MODULES = {
    "pyiceberg.catalog",
    "pyiceberg.catalog.noop",
    "pyiceberg.conversions",
    "pyiceberg.exceptions",
    "pyiceberg.expressions",
    "pyiceberg.expressions.literals",
    "pyiceberg.expressions.parser",
    "pyiceberg.io",
    "pyiceberg.manifest",
    "pyiceberg.partitioning",
    "pyiceberg.schema",
    "pyiceberg.table",
    "pyiceberg.table.metadata",
    "pyiceberg.table.refs",
    "pyiceberg.table.snapshots",
    "pyiceberg.transforms",
    "pyiceberg.typedef",
    "pyiceberg.types",
}
# Of manifests, what they hold; not how they are read and written.
OF_MANIFESTS = {
    "DataFile",
    "DataFileContent",
    "FileFormat",
    "ManifestContent",
    "ManifestEntry",
    "ManifestEntryStatus",
    "ManifestFile",
}
# What is meant to be extended.
BASES = {"FileIO", "InputFile"}
FILES = sorted(file for file in PACKAGE.rglob("*.py") if file != COMPAT)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def faults(source: str) -> list[str]:
    """What a module uses that is not public: of PyIceberg's modules, or of any object but its own."""
    tree = ast.parse(source)
    found = []
    of_pyiceberg = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [f"import {each.name}" for each in node.names if each.name.partition(".")[0] == "pyiceberg"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "pyiceberg":
            names = {each.name for each in node.names}
            of_pyiceberg |= {each.asname or each.name for each in node.names}
            # A module itself goes by the name of its package.
            of = {f"pyiceberg.{each}" for each in names} if node.module == "pyiceberg" else {node.module or ""}
            found += [f"from {each}" for each in sorted(of - PUBLIC_MODULES)]
            hidden = names - OF_MANIFESTS if node.module == "pyiceberg.manifest" else set()
            found += sorted(hidden | {each for each in names if is_private(each)})
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os")
            found += [] if own else [ast.unparse(node)]
        elif isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
            found += [f"class {node.name}({base})" for base in sorted(bases & of_pyiceberg - BASES)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr", "hasattr"):
            name = node.args[1]
            found += [ast.unparse(node)] if isinstance(name, ast.Constant) and is_private(str(name.value)) else []
    return found


# PySpark 3.5 has no public way to rows in Arrow without pandas; none has one to what Java said, to classes of a jar, nor to the settings of a session's builder.
ALLOWED = {
    "spark/append.py": ["df._collect_as_arrow"],
    "spark/call.py": ["getattr(error, '_origin', None)"],
    "spark/rewrite.py": ["spark.sparkContext._jvm", "spark._jsparkSession"],
    "spark/session.py": ["getattr(builder, '_options', {})"],
}


def test_only_compat_uses_private_names() -> None:
    found = {file.relative_to(PACKAGE).as_posix(): faults(file.read_text(encoding="utf-8")) for file in FILES}
    assert {name: of_file for name, of_file in found.items() if of_file} == ALLOWED


@pytest.mark.parametrize(
    "source",
    [
        "from pyiceberg.manifest import _inherit_from_manifest",
        "from pyiceberg.manifest import write_manifest",
        "from pyiceberg.avro.file import AvroFile",
        "from pyiceberg.utils.config import Config",
        "import pyiceberg.table",
        "table._do_commit(())",
        "getattr(table, '_do_commit')(())",
        "from pyiceberg.partitioning import PartitionKey\nclass Own(PartitionKey): pass",
    ],
)
def test_a_private_name_is_noticed(source: str) -> None:
    assert faults(source)


def test_compat_uses_some_and_says_what_to_do() -> None:
    source = COMPAT.read_text(encoding="utf-8")
    assert "release" in source
    assert faults(source)


def test_what_manifests_hold_is_there() -> None:
    assert {name for name, _ in inspect.getmembers(pyiceberg.manifest)} >= OF_MANIFESTS


# Of sqlglot we use scopes and parsers, of which only a major version says that they have changed.
@pytest.mark.parametrize("package", ["pyiceberg", "pyspark", "sqlglot"])
def test_packages_whose_inside_is_used_have_an_upper_bound(package: str) -> None:
    text = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8").partition("[dependency-groups]")[0]
    assert re.search(rf'"{package}>=[\d.]+,<[\d.]+"', text)
