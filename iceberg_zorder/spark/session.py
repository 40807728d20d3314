"""Configure a Spark session with the plugin jar of this package and the matching Iceberg runtime."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError

JARS = "spark.jars"
PACKAGES = "spark.jars.packages"

PLUGIN_JAR = Path(__file__).resolve().parent.parent / "jars" / "iceberg-zorder-spark.jar"

# The newest Iceberg for each supported minor version of PySpark, and its Scala.
ICEBERG_VERSIONS = {
    ((3, 5), "2.12"): "1.12.0",
    ((3, 5), "2.13"): "1.11.0",
    ((4, 0), "2.13"): "1.11.0",
    ((4, 1), "2.13"): "1.12.0",
}

EXTENSIONS = "spark.sql.extensions"

# Iceberg's sort strategies and ALTER TABLE ... WRITE ORDERED BY need it; on Spark 3.5, every CALL does.
_ICEBERGS_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
# On Spark 3.5, PySpark does not discover extensions. Ours must come after Iceberg's, to see a CALL last.
_OUR_EXTENSION = "io.icebergzorder.spark.IcebergZOrderExtensions"


def configure_spark(builder: SparkSession.Builder, *, extra_packages: Iterable[str] = ()) -> SparkSession.Builder:
    """Add the plugin jar and the matching Iceberg runtime to a session builder.

    The call also sets Iceberg's session extension. On Spark 3.5 it sets the plugin's extension, too; on Spark 4 the
    plugin registers itself. Configure catalogs yourself, as for Iceberg alone.

    Parameters
    ----------
    builder : SparkSession.Builder
        The builder. It keeps its values of ``spark.jars``, ``spark.jars.packages`` and ``spark.sql.extensions``. If
        these values name an Iceberg runtime, of any version, Spark uses that one. Repeat settings of
        ``spark-defaults.conf`` in the builder, because a builder's settings override that file.
    extra_packages : iterable of str
        More Maven coordinates (``group:artifact:version``), such as a JDBC driver for the catalog.

    Returns
    -------
    SparkSession.Builder
        The same builder.

    Raises
    ------
    InvalidInputError
        When this version of PySpark is not supported, the package was installed without its jar, or the builder is for
        a remote Spark Connect server, which loads jars only when it starts.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> builder = configure_spark(SparkSession.builder.master("local[2]"))  # doctest: +SKIP
    >>> spark = builder.getOrCreate()  # doctest: +SKIP
    """
    # The builder has no public way to read its settings.
    options: Mapping[str, object] = getattr(builder, "_options", {})
    _check_jar(PLUGIN_JAR)
    remote = str(options.get("spark.remote", ""))
    if remote.startswith("sc://"):
        raise InvalidInputError(
            f"Cannot add jars to the Spark Connect server {remote.split(';')[0]}, because a server loads its jars "
            f"when it starts: start it with {JARS}={PLUGIN_JAR}"
        )
    settings = jar_settings({key: str(value) for key, value in options.items()}, extra_packages=extra_packages)
    for key, value in settings.items():
        builder.config(key, value)
    if remote:
        # A local server starts with these settings; PySpark then tries to set them again and warns.
        names = "|".join(map(re.escape, settings))
        warnings.filterwarnings("ignore", rf"Failed to set ({names}) to ", UserWarning, r"pyspark\.sql\.connect")
    return builder


def jar_settings(
    settings: Mapping[str, str], *, extra_packages: Iterable[str] = (), plugin_jar: Path = PLUGIN_JAR
) -> dict[str, str]:
    """Return ``spark.jars``, ``spark.jars.packages`` and ``spark.sql.extensions`` for a session."""
    runtime = iceberg_runtime(pyspark.__version__, _scala_version())
    _check_jar(plugin_jar)
    jars = _split(settings.get(JARS, ""))
    packages = [*_split(settings.get(PACKAGES, "")), *extra_packages]
    if not any(jar.rsplit("/", 1)[-1].startswith("iceberg-spark-runtime") for jar in jars):
        packages.append(runtime)
    merged = {JARS: ",".join(dict.fromkeys([*jars, str(plugin_jar)]))}
    if packages:
        first_named: dict[str, str] = {}
        for package in packages:
            first_named.setdefault(package.rpartition(":")[0], package)
        merged[PACKAGES] = ",".join(first_named.values())
    extensions = [*_split(settings.get(EXTENSIONS, "")), _ICEBERGS_EXTENSION]
    if _minor_version(pyspark.__version__) == (3, 5):
        extensions.append(_OUR_EXTENSION)
    merged[EXTENSIONS] = ",".join(dict.fromkeys(extensions))
    return merged


def iceberg_runtime(pyspark_version: str, scala_version: str) -> str:
    """Return the Iceberg runtime for a version of PySpark."""
    major, minor = _minor_version(pyspark_version)
    version = ICEBERG_VERSIONS.get(((major, minor), scala_version))
    if version is None:
        supported = ", ".join(dict.fromkeys(f"{line[0]}.{line[1]}" for line, _ in ICEBERG_VERSIONS))
        raise InvalidInputError(
            f"Cannot configure Spark, because PySpark {pyspark_version} is not supported: install PySpark {supported}"
        )
    return f"org.apache.iceberg:iceberg-spark-runtime-{major}.{minor}_{scala_version}:{version}"


def _check_jar(plugin_jar: Path) -> None:
    if not plugin_jar.is_file():
        raise InvalidInputError(
            f"Cannot configure Spark, because iceberg-zorder was installed without a JDK, and so lacks {plugin_jar}: "
            "set JAVA_HOME to a JDK from 17 to 22, and run pip install '.[spark]' in the clone again, or use the "
            "PyIceberg engine"
        )


def _minor_version(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def _scala_version() -> str:
    """Return the Scala version, from the names of Spark's jars, because PySpark does not expose it."""
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    names = [path.name for path in (home / "jars").glob("scala-library-*.jar")]
    return "2.12" if any(name.startswith("scala-library-2.12") for name in names) else "2.13"


def _split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
