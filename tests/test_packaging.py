"""What a release publishes builds, and registries would take it; versions agree; make refuses tools that would fail later."""

import ast
import os
import re
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from shutil import copyfile
from zipfile import ZipFile

import pytest

import build_dist
import build_jar
import iceberg_zorder
from iceberg_zorder.spark.session import PLUGIN_JAR
from tests.pages import PAGES

REPOSITORY = Path(__file__).parent.parent
JAR = "iceberg_zorder/jars/iceberg-zorder-spark.jar"
MODULES = {"apache-airflow-core": "airflow", "prometheus-client": "prometheus_client", "pyyaml": "yaml"}
"""Modules that are not named like what is installed."""
SERVICE = "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider"


REWRITE = """
import shutil
import iceberg_zorder, pyarrow as pa
from pathlib import Path
from pyiceberg.catalog import load_catalog
from iceberg_zorder.pyiceberg import rewrite_data_files
with load_catalog("lake", uri="sqlite:///catalog.db", warehouse=str(Path.cwd())) as catalog:
    catalog.create_namespace("db")
    rows = pa.table({"a": range(1000), "b": range(1000)})
    table = catalog.create_table("db.t", rows.schema)
    for _ in range(4):
        table.append(rows)
    size = sum(task.file.file_size_in_bytes for task in table.scan().plan_files()) // 2
    done = rewrite_data_files(table, ["a", "b"], options={"rewrite-all": True, "target-file-size-bytes": size})
    jars = list((Path(iceberg_zorder.__file__).parent / "jars").glob("*"))
    print(jars, done.rewritten_data_files_count, "->", done.added_data_files_count)
"""


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and from it the wheel with the jar of the working tree, of which Maven has not to make another."""
    directory, unpacked = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("unpacked")
    build = (sys.executable, "-m", "build", "--outdir", str(directory))
    subprocess.run([*build, "--sdist", str(REPOSITORY)], check=True)
    (sdist,) = directory.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (root,) = unpacked.iterdir()
    (root / JAR).parent.mkdir(exist_ok=True)
    copyfile(PLUGIN_JAR, root / JAR)
    subprocess.run([*build, "--wheel", str(root)], check=True)
    return directory


@pytest.fixture
def artifact(distributions: Path, tmp_path: Path) -> Path:
    """The Maven artifact beside a copy of the wheel, with a page in the place of the Javadoc, which takes long."""
    (wheel,) = distributions.glob("*.whl")
    copyfile(wheel, tmp_path / wheel.name)
    javadoc = tmp_path / "javadoc.jar"
    with ZipFile(javadoc, "w") as pages:
        pages.writestr("index.html", "<html></html>")
    return build_dist.build_maven(tmp_path, javadoc)


@pytest.fixture
def wheel(distributions: Path) -> ZipFile:
    (found,) = distributions.glob("*.whl")
    return ZipFile(BytesIO(found.read_bytes()))


@pytest.fixture
def jar() -> ZipFile:
    return ZipFile(PLUGIN_JAR)


def test_what_is_imported_is_declared() -> None:
    pyproject = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    dependencies = pyproject[pyproject.index("dependencies = [") : pyproject.index("[project.scripts]")]
    declared = set(re.findall(r'(?:^ +|\[|, )"([a-z0-9-]+)', dependencies, re.MULTILINE))
    imported = {
        name.partition(".")[0]
        for file in (REPOSITORY / "iceberg_zorder").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    # PySpark's exceptions are those of py4j, in the version that it has chosen, and so is pydantic_core of pydantic. Metrics need their library only where
    # they are written; zoneinfo finds the data of tzdata by itself, and sqlglot imports dateutil where it
    # adds months.
    apart = {"iceberg_zorder", "py4j", "prometheus_client", "pydantic_core"}
    # An extra takes another one in by the package's own name.
    names = {MODULES.get(name, name) for name in declared} - apart - {"iceberg-zorder", "tzdata", "python-dateutil"}
    assert imported - sys.stdlib_module_names - apart == names


def text(archive: ZipFile, suffix: str) -> str:
    (name,) = [name for name in archive.namelist() if name.endswith(suffix)]
    return archive.read(name).decode()


def classes(jar: ZipFile) -> set[str]:
    return {name for name in jar.namelist() if name.endswith(".class")}


@pytest.mark.way
def test_wheel_carries_the_package_and_nothing_else(wheel: ZipFile) -> None:
    modules = {path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "iceberg_zorder").rglob("*.py")}
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    pages = {f"render/{name}" for name in ("advice_page.html", "page.css", "page.js", "parts.html", "report_page.html")}
    data = {"py.typed", *pages}
    assert names == modules | {f"iceberg_zorder/{name}" for name in data} | {JAR}
    assert "iceberg-zorder = iceberg_zorder.cli.app:main" in text(wheel, ".dist-info/entry_points.txt").splitlines()
    assert "Apache License" in text(wheel, ".dist-info/licenses/LICENSE")


def test_jar_registers_its_extensions_and_holds_no_class_of_others(jar: ZipFile) -> None:
    (entry,) = text(jar, SERVICE).split()
    assert f"{entry.replace('.', '/')}.class" in classes(jar)
    sources = [
        file.as_posix().partition("/src/main/java/") for file in REPOSITORY.glob("spark_jars/*/src/main/java/**/*.java")
    ]
    packages = {name.rpartition("/")[0] for module, _, name in sources if not module.endswith("iceberg-tests")}
    assert {name.rpartition("/")[0] for name in classes(jar)} == packages
    assert all(package.startswith("io/icebergzorder/") for package in packages)


def test_the_entry_class_loads_on_java_8_and_says_there_that_it_is_too_old(jar: ZipFile) -> None:
    (entry,) = text(jar, SERVICE).split()
    major = int.from_bytes(jar.read(f"{entry.replace('.', '/')}.class")[6:8], "big")
    assert major == 52


@pytest.mark.way
def test_sdist_holds_sources_only(distributions: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = {member.name.partition("/")[2]: member for member in archive.getmembers()}
    assert [name for name in members if name.endswith((".jar", ".class"))] == []
    assert members["mvnw"].mode & 0o111
    assert "spark_jars/pom.xml" in members


def test_package_and_pages_name_one_system() -> None:
    (system,) = re.findall(r'"Operating System :: (.*)"', (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    text = PAGES["README.md"] + PAGES["docs/understand/platform-teams.md"]
    named = re.findall(r"^(?:You need |- \*\*)(\w+)(?:, Python| only\.\*\*)", text, re.MULTILINE)
    assert named == [system.rpartition(" :: ")[2]] * 2


def test_versions_are_equal(jar: ZipFile) -> None:
    (declared,) = re.findall(
        r'^version = "(.*)"$', (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    artifact = r"<artifactId>iceberg-zorder-parent</artifactId>\s*<version>([^<]+)</version>"
    poms = [REPOSITORY / "spark_jars" / "pom.xml", *(REPOSITORY / "spark_jars").glob("*/pom.xml")]
    in_poms = {pom: re.findall(artifact, pom.read_text(encoding="utf-8")) for pom in poms}
    assert in_poms == {pom: [declared] for pom in poms}
    assert iceberg_zorder.__version__ == declared


@pytest.mark.way
def test_maven_central_misses_only_what_a_publisher_gives(artifact: Path, jar: ZipFile) -> None:
    assert build_dist.central_faults(artifact) == [f"the POM has no {field}" for field in build_dist.PUBLISHER_GIVES]
    assert artifact.parts[-4:-1] == ("io", "icebergzorder", "iceberg-zorder-plugin")
    with ZipFile(artifact / f"iceberg-zorder-plugin-{artifact.name}.jar") as published:
        assert classes(published) == classes(jar)
    pom = (artifact / f"iceberg-zorder-plugin-{artifact.name}.pom").read_text(encoding="utf-8")
    assert "<dependencies>" not in pom, "the jar holds all modules, which are published nowhere else"
    assert "<parent>" not in pom


@pytest.mark.way
def test_pypi_would_take_the_distributions(distributions: Path) -> None:
    files = [str(path) for path in distributions.iterdir()]
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == len(files) == 2


@pytest.mark.way
def test_the_wheel_is_built_from_the_sdist_alone_and_works_in_an_environment_of_its_own_without_pyspark(
    jar: ZipFile, tmp_path: Path
) -> None:
    def output(*command: str) -> str:
        # Elsewhere than in the repository, and without its path: what was installed is imported.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    distributions = tmp_path / "dist"
    build_dist.build_python(distributions)
    (wheel,) = distributions.glob("*.whl")
    with ZipFile(BytesIO(ZipFile(wheel).read(JAR))) as made:
        assert classes(made) == classes(jar)
    output(sys.executable, "-m", "venv", "fresh")
    programs = tmp_path / "fresh" / "bin"
    output(str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    assert output(str(programs / "iceberg-zorder"), "--version") == f"iceberg-zorder {iceberg_zorder.__version__}\n"
    assert "rewrite" in output(str(programs / "iceberg-zorder"), "--help")
    program = (
        "import importlib.util, iceberg_zorder.pyiceberg as engine; "
        "print(importlib.util.find_spec('pyspark'), engine.rewrite_data_files.__name__, engine.__file__)"
    )
    found = output(str(programs / "python"), "-c", program).split()
    assert found[:2] == ["None", "rewrite_data_files"]
    assert Path(found[2]).is_relative_to(tmp_path)


@pytest.mark.way
def test_without_a_jdk_a_release_is_refused_and_pip_installs_what_pyiceberg_needs(
    distributions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        SystemExit, match=r"^Cannot build iceberg_zorder-.*\.whl, because it lacks iceberg_zorder/jars/"
    ):
        build_dist.build_python(tmp_path / "dist")
    assert [path.suffix for path in (tmp_path / "dist").iterdir()] == [".gz"], "no wheel is left to publish"

    monkeypatch.delenv("PYTHONPATH", raising=False)
    (sdist,) = distributions.glob("*.tar.gz")
    subprocess.run([sys.executable, "-m", "venv", "fresh"], cwd=tmp_path, check=True)
    python = str(tmp_path / "fresh" / "bin" / "python")
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--verbose", f"iceberg-zorder @ {sdist.as_uri()}", "pyiceberg[sql-sqlite]"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert installed.returncode == 0, installed.stdout + installed.stderr
    assert "Building without iceberg-zorder-spark.jar, which only Spark needs, because" in installed.stderr
    done = subprocess.run([python, "-c", REWRITE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "[] 4 -> 2\n", done.stderr


def only_programs(monkeypatch: pytest.MonkeyPatch, directory: Path, **programs: str) -> None:
    """Make these shell scripts the only programs on the PATH."""
    for name, script in programs.items():
        (directory / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (directory / name).chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(directory))


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's jar: one of earlier sources, which no package may have."""
    jar = tmp_path / "iceberg-zorder-spark.jar"
    jar.touch()
    os.utime(jar, (0, 0))
    monkeypatch.setattr(build_jar, "PACKAGED", jar)
    return jar


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        ({}, "no javac in PATH"),
        ({"java": 'echo openjdk version \\"17.0.15\\" >&2'}, "no javac in PATH"),
        ({"javac": "echo Picked up JAVA_TOOL_OPTIONS: -Da=17 >&2; echo javac 11.0.29"}, "javac 11 in PATH"),
        ({"javac": "echo javac 1.8.0_432 >&2"}, "javac 1 in PATH"),
        ({"javac": "echo Unable to locate a Java Runtime >&2; exit 1"}, "no javac in PATH"),
    ],
)
def test_a_package_built_without_a_jdk_lacks_the_jar_and_says_so(
    packaged: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    programs: dict[str, str],
    found: str,
) -> None:
    only_programs(monkeypatch, tmp_path, **programs)
    build_jar.build_if_possible()
    assert not packaged.exists()
    assert capsys.readouterr().err == (
        "Building without iceberg-zorder-spark.jar, which only Spark needs, because its build takes JDK 17 or newer: "
        f"found {found}\n"
    )


def test_a_wrong_java_home_is_no_jdk(
    packaged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", "none")
    build_jar.build_if_possible()
    assert not packaged.exists()
    assert "found no javac in JAVA_HOME\n" in capsys.readouterr().err


def test_a_jdk_whose_build_fails_is_an_error(packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_programs(monkeypatch, tmp_path, javac="echo javac 25", mvn="exit 1")
    with pytest.raises(SystemExit, match=r"^Cannot build .*\.jar, because Maven failed: .* set JAVA_HOME=none$"):
        build_jar.build_if_possible()


def test_a_jar_that_is_newer_than_its_sources_needs_no_jdk(
    packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    os.utime(packaged)
    only_programs(monkeypatch, tmp_path)
    build_jar.build_if_possible()
    assert packaged.exists()
    assert capsys.readouterr().err == ""


@pytest.mark.full
def test_javadoc_is_complete_and_without_a_warning() -> None:
    with ZipFile(build_dist.build_javadoc()) as pages:
        assert {"index.html", "io/icebergzorder/core/Layout.html"} <= set(pages.namelist())


def fake_jdk(directory: Path, *, java: str, javac: str) -> Path:
    (directory / "bin").mkdir()
    # Java tells of JAVA_TOOL_OPTIONS before it tells its version.
    lines = {
        "java": f'Picked up JAVA_TOOL_OPTIONS: -Da=8\nopenjdk version "{java}" 2026-01-20',
        "javac": f"javac {javac}",
    }
    for name, line in lines.items():
        tool = directory / "bin" / name
        tool.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{line}\nEND\n", encoding="utf-8")
        tool.chmod(0o755)
    return directory


def check_tools(*, python: str, java_home: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["make", "--no-print-directory", "check-tools", f"PYTHON={python}"],
        cwd=REPOSITORY,
        env={**os.environ, "JAVA_HOME": str(java_home)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("java", "javac", "found"),
    [
        ("21.0.9", "21.0.9", ""),
        ("1.8.0_432", "1.8.0_432", "java 1"),
        ("25-ea", "25-ea", "java 25"),  # Hadoop 3.4.2 in Spark 4.1 fails from 23 on: getSubject is not supported
        ("17.0.15", "11.0.29", "javac 11"),
    ],
)
def test_make_refuses_a_jdk_that_spark_does_not_run_on(tmp_path: Path, java: str, javac: str, found: str) -> None:
    code, output = check_tools(python=sys.executable, java_home=fake_jdk(tmp_path, java=java, javac=javac))
    message = (
        "Cannot build, because a JDK from 17 to 22 is needed, as Spark 4.1 does not start on a newer one: "
        f"found {found}, set JAVA_HOME=...\n"
    )
    assert (code != 0, output) == ((True, message) if found else (False, ""))


def test_make_refuses_a_jre_and_a_missing_python(tmp_path: Path) -> None:
    home = fake_jdk(tmp_path, java="17.0.15", javac="17.0.15")
    assert check_tools(python="no-such-python", java_home=home)[1] == (
        "Cannot build, because Python 3.10 or newer is needed: set PYTHON=...\n"
    )
    (home / "bin" / "javac").unlink()
    assert "found no javac, set JAVA_HOME" in check_tools(python=sys.executable, java_home=home)[1]
