"""The Spark engine's Java packages import one way: sql -> api -> run -> layout, commit, metrics -> plan -> spec, joins -> internals."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "spark_jars"
PACKAGE = "io.icebergzorder.spark"

# Each package may import from those before it; two in one stage do not know each other.
STAGES: list[set[str]] = [
    {"", "core"},
    {"internals", "bounds"},
    {"spec", "joins"},
    {"plan"},
    {"layout", "commit", "metrics"},
    {"run"},
    {"api"},
    {"sql"},
]
# The same of the core's.
CORE_STAGES = ["core", "core.workload", "core.metrics", "core.select"]
STAGE_OF = {package: stage for stage, packages in enumerate(STAGES) for package in packages}
SEAMS_MAY_IMPORT = {"sql", "internals", "joins"}

FILES = sorted((ROOT / "spark" / "src" / "main" / "java").rglob("*.java"))
SEAMS = sorted(file for name in ("spark-3.5", "spark-4") for file in (ROOT / name / "src" / "main").rglob("*.java"))
CORE = sorted((ROOT / "core" / "src" / "main" / "java").rglob("*.java"))


def mentioned(text: str) -> set[str]:
    """The engine's packages whose classes a source names, imported or in full; the core counts as one."""
    found = {
        match or "" for match in re.findall(rf"\b{re.escape(PACKAGE)}\.(?:((?:[a-z]\w*\.)*[a-z]\w*)\.)?[A-Z]\w*", text)
    }
    return found | ({"core"} if re.search(r"\bio\.icebergzorder\.core\.[A-Z]", text) else set())


def faults(package: str, text: str) -> list[str]:
    return [
        f"{package} names {other or PACKAGE}, which comes after it or stands beside it"
        for other in sorted(mentioned(text) - {package})
        if STAGE_OF[other] >= STAGE_OF[package]
    ]


def read(files: list[Path]) -> Iterator[tuple[str, str]]:
    """The package of each source below ours, and its text."""
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        named = re.search(r"^package io\.icebergzorder\.(\S+);", text, re.MULTILINE)
        assert named is not None
        yield named[1], text


def test_imports_go_one_way() -> None:
    found = list(read(FILES))
    assert [each for named, text in found for each in faults(named.removeprefix("spark").removeprefix("."), text)] == []
    assert len({named for named, _ in found}) == len(STAGE_OF) - 1, "each package has a stage"


def test_the_seams_know_procedures_joins_and_internals_only() -> None:
    assert set().union(*(mentioned(text) for _, text in read(SEAMS))) <= SEAMS_MAY_IMPORT


def test_the_core_knows_no_engine_and_its_imports_go_one_way() -> None:
    for named, text in read(CORE):
        assert not re.search(r"\borg\.apache\.|\bio\.icebergzorder\.spark", text), named
        later = CORE_STAGES[CORE_STAGES.index(named) + 1 :]
        assert set(re.findall(r"\bio\.icebergzorder\.(core(?:\.[a-z]+)*)\.[A-Z]", text)).isdisjoint(later), named


def test_a_wrong_import_is_noticed() -> None:
    assert faults("plan", f"import {PACKAGE}.run.Rewrite;")
    assert faults("commit", f"import {PACKAGE}.layout.Sampler;")
    assert faults("spec", f"import {PACKAGE}.plan.TablePlan;")
    assert faults("internals", f"import static {PACKAGE}.plan.RewriteOptions.of;")
    assert faults("", f"import {PACKAGE}.sql.Procedures;")
    assert not faults("run", f"import {PACKAGE}.plan.TablePlan;")
    assert not faults("plan", f"import {PACKAGE}.spec.RewriteSpec;")
