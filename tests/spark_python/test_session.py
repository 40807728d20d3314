"""Setting up a session."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.spark import configure_spark, session
from iceberg_zorder.spark.session import EXTENSIONS, JARS, PACKAGES, iceberg_runtime, jar_settings

ICEBERGS_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "plugin.jar"
    path.touch()
    monkeypatch.setattr(session, "PLUGIN_JAR", path)
    return str(path)


def options(builder: SparkSession.Builder) -> dict[str, Any]:
    return dict(builder._options)


def test_fresh_builder() -> None:
    builder = SparkSession.builder.appName("x")
    assert configure_spark(builder) is builder
    assert options(builder) == {
        "spark.app.name": "x",
        JARS: str(session.PLUGIN_JAR),
        PACKAGES: RUNTIME,
        EXTENSIONS: ICEBERGS_EXTENSION,
    }


def test_what_is_set_is_kept(jar: str) -> None:
    given = {JARS: "a.jar, b.jar", PACKAGES: "g:mine:1", EXTENSIONS: "my.Extension"}
    merged = jar_settings(given, extra_packages=["g:more:2", "g:mine:3"], plugin_jar=Path(jar))
    assert merged == {
        JARS: f"a.jar,b.jar,{jar}",
        PACKAGES: f"g:mine:1,g:more:2,{RUNTIME}",
        EXTENSIONS: f"my.Extension,{ICEBERGS_EXTENSION}",
    }


def test_twice_is_once() -> None:
    builder = configure_spark(SparkSession.builder)
    once = options(builder)
    assert options(configure_spark(builder)) == once


def test_an_iceberg_runtime_of_ones_own(jar: str) -> None:
    older = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"
    assert jar_settings({PACKAGES: older}, plugin_jar=Path(jar))[PACKAGES] == older
    own = {JARS: "/opt/iceberg-spark-runtime-4.1_2.13-1.12.0.jar"}
    assert jar_settings(own, plugin_jar=Path(jar)) == {JARS: f"{own[JARS]},{jar}", EXTENSIONS: ICEBERGS_EXTENSION}


@pytest.mark.parametrize("builder", [SparkSession.builder, SparkSession.builder.remote("sc://127.0.0.1:15002")])
def test_without_its_jar_the_package_says_how_to_get_it(
    jar: str, monkeypatch: pytest.MonkeyPatch, builder: SparkSession.Builder
) -> None:
    Path(jar).unlink()
    with pytest.raises(InvalidInputError) as raised:
        configure_spark(builder)
    assert str(raised.value) == (
        f"Cannot configure Spark, because iceberg-zorder was installed without a JDK, and so lacks {jar}: set JAVA_HOME "
        "to a JDK from 17 to 22, and run pip install '.[spark]' in the clone again, or use the PyIceberg engine"
    )


def test_spark_3_5_has_its_extensions_named(jar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "3.5.8")
    merged = jar_settings({EXTENSIONS: "my.Extension"}, plugin_jar=Path(jar))
    assert merged[EXTENSIONS] == (
        "my.Extension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,"
        "io.icebergzorder.spark.IcebergZOrderExtensions"
    )
    assert jar_settings(merged, plugin_jar=Path(jar))[EXTENSIONS] == merged[EXTENSIONS]


@pytest.mark.parametrize(("scala", "iceberg"), [("2.12", "1.12.0"), ("2.13", "1.11.0")])
def test_the_iceberg_runtime_has_the_scala_of_spark(
    jar: str, scala: str, iceberg: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"scala-library-{scala}.18.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr("pyspark.__version__", "3.5.8")
    packages = jar_settings({}, plugin_jar=Path(jar))[PACKAGES]
    assert packages == f"org.apache.iceberg:iceberg-spark-runtime-3.5_{scala}:{iceberg}"


@pytest.mark.parametrize("version", ["3.4.4", "4.2.0", "4.10.1.dev0"])
def test_unsupported_pyspark(version: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        iceberg_runtime(version, "2.13")
    assert str(raised.value) == (
        f"Cannot configure Spark, because PySpark {version} is not supported: install PySpark 3.5, 4.0, 4.1"
    )


def test_remote_server() -> None:
    builder = SparkSession.builder.remote("sc://127.0.0.1:15002/;token=secret")
    with pytest.raises(InvalidInputError, match="Cannot add jars to the Spark Connect server sc://") as raised:
        configure_spark(builder)
    assert "secret" not in str(raised.value)
