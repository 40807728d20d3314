"""Give a Spark session what it needs: the plugin jar of this package and the matching Iceberg runtime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError

JARS = "spark.jars"
PACKAGES = "spark.jars.packages"

PLUGIN_JAR = Path(__file__).resolve().parent.parent / "jars" / "iceberg-zorder-spark.jar"

# The Iceberg runtime for each supported minor version of PySpark.
ICEBERG_RUNTIMES = {(4, 1): "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"}


def configure_spark(builder: SparkSession.Builder, *, extra_packages: Iterable[str] = ()) -> SparkSession.Builder:
    """Add the plugin jar and the matching Iceberg runtime to a session builder.

    Nothing else is needed: the plugin registers itself when the session starts. Catalogs are configured
    as for Iceberg alone.

    Parameters
    ----------
    builder : SparkSession.Builder
        The builder; what it already has in ``spark.jars`` and ``spark.jars.packages`` is kept. An Iceberg
        runtime named there, in whatever version, is used instead of ours.
    extra_packages : iterable of str
        More Maven coordinates (``group:artifact:version``), such as a JDBC driver for the catalog.

    Returns
    -------
    SparkSession.Builder
        The same builder.

    Raises
    ------
    InvalidInputError
        When this version of PySpark is not supported, or the builder is for a remote Spark Connect server,
        which takes its jars when it starts.
    FileNotFoundError
        When the package was built without its jar.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> builder = configure_spark(SparkSession.builder.master("local[2]"))  # doctest: +SKIP
    >>> spark = builder.getOrCreate()  # doctest: +SKIP
    """
    # The builder has no public way to read what was set on it.
    options: Mapping[str, object] = getattr(builder, "_options", {})
    remote = str(options.get("spark.remote", ""))
    if remote.startswith("sc://"):
        raise InvalidInputError(
            f"Cannot add jars to the Spark Connect server {remote.split(';')[0]}, because a server takes its jars "
            f"when it starts: start it with {JARS}={PLUGIN_JAR}"
        )
    settings = jar_settings({key: str(value) for key, value in options.items()}, extra_packages=extra_packages)
    for key, value in settings.items():
        builder.config(key, value)
    return builder


def jar_settings(
    settings: Mapping[str, str], *, extra_packages: Iterable[str] = (), plugin_jar: Path = PLUGIN_JAR
) -> dict[str, str]:
    """Work out ``spark.jars`` and ``spark.jars.packages`` for a session.

    Parameters
    ----------
    settings : mapping of str to str
        Spark settings given so far.
    extra_packages : iterable of str
        More Maven coordinates.
    plugin_jar : Path
        The plugin jar.

    Returns
    -------
    dict of str to str
        ``spark.jars`` and, if any package is needed, ``spark.jars.packages``, without duplicates: of two
        versions of one artifact the one named first stays.

    Raises
    ------
    InvalidInputError
        When this version of PySpark is not supported.
    FileNotFoundError
        When there is no plugin jar.

    Examples
    --------
    >>> from iceberg_zorder.spark.session import JARS, jar_settings
    >>> import tempfile, pathlib
    >>> with tempfile.NamedTemporaryFile(suffix=".jar") as jar:
    ...     jars = jar_settings({JARS: "mine.jar"}, plugin_jar=pathlib.Path(jar.name))[JARS]
    ...     jars == f"mine.jar,{jar.name}"
    True
    """
    runtime = iceberg_runtime(pyspark.__version__)
    if not plugin_jar.is_file():
        raise FileNotFoundError(
            f"Cannot find {plugin_jar}, because this package was built without its jar; build it with `make jar`"
        )
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
    return merged


def iceberg_runtime(pyspark_version: str) -> str:
    """Name the Iceberg runtime for a version of PySpark.

    Parameters
    ----------
    pyspark_version : str
        As ``pyspark.__version__``.

    Returns
    -------
    str
        Its Maven coordinates.

    Raises
    ------
    InvalidInputError
        When there is none in this version of iceberg-zorder.

    Examples
    --------
    >>> iceberg_runtime("4.1.4")
    'org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0'
    """
    major, minor = pyspark_version.split(".")[:2]
    runtime = ICEBERG_RUNTIMES.get((int(major), int(minor)))
    if runtime is None:
        supported = ", ".join(f"{major}.{minor}" for major, minor in ICEBERG_RUNTIMES)
        raise InvalidInputError(
            f"Cannot configure Spark, because PySpark {pyspark_version} is not supported: install PySpark {supported}"
        )
    return runtime


def _split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
