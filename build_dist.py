"""Build what a release publishes into ``dist`` and check it by the registries' rules: ``make dist``.

    dist/iceberg_zorder-<version>.tar.gz       the sdist, for PyPI
    dist/iceberg_zorder-<version>-*.whl        the wheel, built from nothing but the sdist, with the plugin jar inside
    dist/SHA256SUMS                            of these two
    dist/maven/io/icebergzorder/...            that jar with its sources, Javadoc, POM and checksums, for Maven Central
    dist/site/                                 the pages under docs, for a web server

PyPI's rules are checked by ``twine check --strict``, Maven Central's here; they are at
https://central.sonatype.org/publish/requirements. What only the publisher can give is listed at the end.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from xml.etree import ElementTree as ET
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from build_jar import MAVEN_PROJECT, ROOT, maven

DIST = ROOT / "dist"
JAR_IN_WHEEL = "iceberg_zorder/jars/iceberg-zorder-spark.jar"
MODULES = ("core", "spark", "spark-3.5", "spark-4")
"""The Maven modules whose classes the jar holds."""
DOCUMENTED = (".", "core", "spark", "spark-4")
"""Modules with Javadoc. That of 3.5 has nothing public, and needs another Spark on the class path."""

POM = "http://maven.apache.org/POM/4.0.0"
REQUIRED = (
    *("groupId", "artifactId", "version", "name", "description", "url"),
    *("licenses/license/name", "licenses/license/url"),
    *("developers/developer/name", "scm/connection", "scm/url"),
)
"""Elements of a POM without which Maven Central takes nothing."""
PUBLISHER_GIVES = ("url", "developers/developer/name", "scm/connection", "scm/url")
"""Of these, what the project cannot have before it has a public address and an owner."""
CHECKSUMS = ("md5", "sha1", "sha256", "sha512")
_EARLIEST = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Build and check everything; ends with exit code 1 if a rule is broken."""
    shutil.rmtree(DIST, ignore_errors=True)
    build_python(DIST)
    artifact = build_maven(DIST, build_javadoc())
    for_pypi = sorted(path for path in DIST.iterdir() if path.is_file())
    _run([sys.executable, "-m", "twine", "check", "--strict", *map(str, for_pypi)])
    sums = "".join(f"{_digest(path, 'sha256')}  {path.name}\n" for path in for_pypi)
    (DIST / "SHA256SUMS").write_text(sums, encoding="ascii")
    _run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(DIST / "site")])
    found = central_faults(artifact)
    left = [field for field in PUBLISHER_GIVES if _lacks(field) in found]
    faults = [fault for fault in found if fault not in map(_lacks, left)]
    if faults:
        raise SystemExit(f"Cannot publish {artifact}, because {'; '.join(faults)}")
    files = [*for_pypi, *sorted(path for path in artifact.iterdir() if path.suffix[1:] not in CHECKSUMS)]
    for path in files:
        sys.stdout.write(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes\n")
    elements = f"in the POM {', '.join(left)}; " if left else ""
    sys.stdout.write(f"{DIST.name}/SHA256SUMS\n{DIST.name}/site\n\n")
    sys.stdout.write(f"Left to the publisher: {elements}a signature (.asc) of every file in dist/maven\n")


def build_python(directory: Path) -> None:
    """Build the sdist, and from it the wheel, into a directory; a wheel without the jar is an error."""
    _run([sys.executable, "-m", "build", "--outdir", str(directory), str(ROOT)])
    (wheel,) = directory.glob("*.whl")
    if JAR_IN_WHEEL not in _names(wheel):
        wheel.unlink()
        raise SystemExit(f"Cannot build {wheel.name}, because it lacks {JAR_IN_WHEEL}: set JAVA_HOME to a JDK")


def build_javadoc() -> Path:
    """Build the Javadoc of all documented modules together; its warnings are errors."""
    project = ["-f", str(MAVEN_PROJECT / "pom.xml"), "-pl", ",".join(DOCUMENTED)]
    goals = ["-Dmaven.test.skip=true", "package", "javadoc:aggregate-jar"]
    _run([maven(), "--batch-mode", "--quiet", *project, *goals])
    (built,) = (MAVEN_PROJECT / "target").glob("*-javadoc.jar")
    return built


def build_maven(directory: Path, javadoc: Path) -> Path:
    """Lay out the Maven artifact as a repository has it, beside the wheel whose jar it is.

    Parameters
    ----------
    directory : Path
        Holds the wheel, and gets ``maven/<group>/<artifact>/<version>``.
    javadoc : Path
        The Javadoc jar.

    Returns
    -------
    Path
        The directory of the version: jar, sources, Javadoc and POM, each with its checksums.
    """
    pom = published_pom()
    group, name, version = (_text(pom, field) for field in ("groupId", "artifactId", "version"))
    artifact = directory / "maven" / Path(*group.split(".")) / name / version
    artifact.mkdir(parents=True)
    stem = f"{name}-{version}"
    (wheel,) = directory.glob("*.whl")
    with ZipFile(wheel) as archive:
        (artifact / f"{stem}.jar").write_bytes(archive.read(JAR_IN_WHEEL))
    write_sources_jar(artifact / f"{stem}-sources.jar")
    shutil.copyfile(javadoc, artifact / f"{stem}-javadoc.jar")
    ET.ElementTree(pom).write(artifact / f"{stem}.pom", encoding="UTF-8", xml_declaration=True)
    for path in sorted(artifact.iterdir()):
        for algorithm in CHECKSUMS:
            path.with_name(f"{path.name}.{algorithm}").write_text(_digest(path, algorithm), encoding="ascii")
    return artifact


def published_pom() -> ET.Element:
    """Write the POM that users resolve.

    It has no parent and no dependency, because the jar holds all modules, and nothing of others.

    Returns
    -------
    Element
        Name, licence and whatever else says whose it is, from the project's POMs.
    """
    ET.register_namespace("", POM)
    parent = ET.parse(MAVEN_PROJECT / "pom.xml").getroot()  # noqa: S314
    plugin = ET.parse(MAVEN_PROJECT / "plugin" / "pom.xml").getroot()  # noqa: S314
    pom = ET.Element(f"{{{POM}}}project")
    ET.SubElement(pom, f"{{{POM}}}modelVersion").text = "4.0.0"
    for source, field in (
        *((parent, "groupId"), (plugin, "artifactId"), (parent, "version"), (parent, "name"), (plugin, "description")),
        *((parent, "url"), (parent, "licenses"), (parent, "developers"), (parent, "scm")),
    ):
        element = source.find(f"{{{POM}}}{field}")
        if element is not None:
            pom.append(element)
    ET.indent(pom)
    return pom


def write_sources_jar(path: Path) -> None:
    """Pack the sources and resources of all modules, the same bytes each time."""
    with ZipFile(path, "w", ZIP_DEFLATED) as jar:
        for module, kind in product(MODULES, ("java", "resources")):
            root = MAVEN_PROJECT / module / "src" / "main" / kind
            for file in sorted(file for file in root.rglob("*") if file.is_file()):
                _add(jar, file.relative_to(root).as_posix(), file)
        _add(jar, "META-INF/LICENSE", ROOT / "LICENSE")


def central_faults(artifact: Path) -> list[str]:
    """Find what Maven Central would refuse, signatures aside.

    Parameters
    ----------
    artifact : Path
        The directory of a version, as :func:`build_maven` lays it out.

    Returns
    -------
    list of str
        What is wrong, each as a clause; empty if nothing is.
    """
    stem = f"{artifact.parent.name}-{artifact.name}"
    expected = [f"{stem}{suffix}" for suffix in (".jar", "-sources.jar", "-javadoc.jar", ".pom")]
    faults = [f"there is no {name}" for name in expected if not (artifact / name).is_file()]
    if faults:
        return faults
    pom = ET.parse(artifact / f"{stem}.pom").getroot()  # noqa: S314
    faults += [_lacks(field) for field in REQUIRED if not _text(pom, field)]
    coordinates = "/".join([*_text(pom, "groupId").split("."), _text(pom, "artifactId"), _text(pom, "version")])
    if not artifact.as_posix().endswith(f"/{coordinates}"):
        faults.append(f"the POM is for {coordinates}")
    if artifact.name.endswith("-SNAPSHOT"):
        faults.append(f"{artifact.name} is no release")
    for name in expected:
        for algorithm in CHECKSUMS:
            checksum = artifact / f"{name}.{algorithm}"
            if not checksum.is_file() or checksum.read_text(encoding="ascii") != _digest(artifact / name, algorithm):
                faults.append(f"{checksum.name} is missing or wrong")
    classes = {_source(name) for name in _names(artifact / f"{stem}.jar") if name.endswith(".class")}
    without = sorted(classes - _names(artifact / f"{stem}-sources.jar"))
    if without:
        faults.append(f"the sources jar lacks {', '.join(without)}")
    if "index.html" not in _names(artifact / f"{stem}-javadoc.jar"):
        faults.append("the Javadoc jar has no index.html")
    return faults


def _lacks(field: str) -> str:
    return f"the POM has no {field}"


def _source(class_file: str) -> str:
    return class_file.removesuffix(".class").partition("$")[0] + ".java"


def _names(archive: Path) -> set[str]:
    with ZipFile(archive) as opened:
        return set(opened.namelist())


def _text(pom: ET.Element, field: str) -> str:
    return (pom.findtext("/".join(f"{{{POM}}}{part}" for part in field.split("/"))) or "").strip()


def _add(jar: ZipFile, name: str, file: Path) -> None:
    entry = ZipInfo(name, _EARLIEST)
    entry.external_attr = 0o644 << 16
    jar.writestr(entry, file.read_bytes(), ZIP_DEFLATED)


def _digest(path: Path, algorithm: str) -> str:
    return hashlib.new(algorithm, path.read_bytes(), usedforsecurity=False).hexdigest()


def _run(command: list[str]) -> None:
    if subprocess.run(command, check=False).returncode != 0:  # noqa: S603
        raise SystemExit(f"Cannot build dist, because this failed: {' '.join(command)}")


if __name__ == "__main__":
    main()
