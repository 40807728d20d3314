"""The stack in containers, as far as it can be checked without running them."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import iceberg_zorder
from iceberg_zorder.maintain.policy.read import parse_policy
from iceberg_zorder.spark.catalogs import AWS_BUNDLE, POSTGRESQL_DRIVER
from iceberg_zorder.spark.session import PLUGIN_JAR, iceberg_runtime

ROOT = Path(__file__).resolve().parents[1]
FILE, POLICY = ROOT / "docker-compose.yml", ROOT / "docker-compose.policy.yaml"

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]


def option(name: str) -> str:
    """Take an option of spark-submit from Spark's command."""
    command: list[str] = SERVICES["spark"]["command"]
    (value,) = (text.removeprefix(f"--{name}=") for text in command if text.startswith(f"--{name}="))
    return value


def tag(name: str) -> str:
    image, _, version = SERVICES[name]["image"].partition(":")
    assert image
    assert version[:1].isdigit()
    return str(version)


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed")
def test_docker_compose_takes_it() -> None:
    done = subprocess.run(
        ["docker-compose", "-f", str(FILE), "config", "-q"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_open_to_this_machine_only(name: str) -> None:
    ports = SERVICES[name].get("ports", [])
    assert all(port.startswith("127.0.0.1:") and port.count(":") == 2 for port in ports)
    assert bool(ports) == (name != "maintainer"), "nobody needs to reach the maintainer"
    assert "network_mode" not in SERVICES[name]


def test_spark_has_the_plugin() -> None:
    (mount,) = SERVICES["spark"]["volumes"]
    source, target, mode = mount.split(":")
    assert (ROOT / source).resolve() == PLUGIN_JAR
    assert option("jars") == target
    assert mode == "ro"


def test_versions_are_those_of_the_package() -> None:
    runtime = iceberg_runtime(tag("spark").partition("-")[0], "2.13")
    assert "-scala2.13-" in tag("spark")
    assert option("packages").split(",") == [runtime, AWS_BUNDLE, POSTGRESQL_DRIVER]
    assert tag("rest") == runtime.rpartition(":")[2]


def catalog(name: str) -> dict[str, str]:
    """Take the properties of a catalog from Spark's command."""
    prefix = f"--conf=spark.sql.catalog.{name}."
    pairs = (
        text.removeprefix(prefix).partition("=") for text in SERVICES["spark"]["command"] if text.startswith(prefix)
    )
    return {key: value for key, _, value in pairs}


def test_the_maintainer_has_the_wheel_and_a_policy() -> None:
    mounts = dict(each.removesuffix(":ro").split(":") for each in SERVICES["maintainer"]["volumes"])
    assert mounts == {"./dist": "/opt/iceberg-zorder", f"./{POLICY.name}": "/etc/iceberg-zorder/policy.yaml"}
    shell, option, script = SERVICES["maintainer"]["command"]
    assert (shell, option) == ("sh", "-c")
    assert f"'/opt/iceberg-zorder/iceberg_zorder-{iceberg_zorder.__version__}-py3-none-any.whl[maintain]'" in script
    assert "exec iceberg-zorder maintain /etc/iceberg-zorder/policy.yaml --watch " in script


def test_the_policy_finds_the_same_catalogs_as_spark() -> None:
    environment = SERVICES["maintainer"]["environment"]
    catalogs = parse_policy(POLICY.read_text(encoding="utf-8"), POLICY.name, environment).catalogs
    assert set(catalogs) == {"lake", "pg"}
    assert catalogs["lake"].properties["uri"] == catalog("lake")["uri"]
    sql, jdbc = catalogs["pg"].properties, catalog("pg")
    assert sql["warehouse"] == jdbc["warehouse"]
    login = f"{jdbc['jdbc.user']}:{jdbc['jdbc.password']}"
    assert sql["uri"] == jdbc["uri"].replace("jdbc:postgresql://", f"postgresql+psycopg2://{login}@")
    for name, found in catalogs.items():
        of_s3 = {key: value for key, value in found.properties.items() if key.startswith("s3.")}
        assert of_s3.pop("s3.region") == catalog(name)["client.region"]
        assert of_s3.items() <= catalog(name).items()
        assert len(of_s3) == 3
