"""The CronJob against Kubernetes' own schemas, and the command of its container."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import iceberg_zorder
from iceberg_zorder.maintain.policy.read import parse_policy
from tests.maintain.lake import Lake
from tests.pyiceberg.committing import operations
from tests.recipes.places import ENVIRONMENT, RECIPES, placed

pytestmark = pytest.mark.full

FILE = RECIPES / "kubernetes" / "cronjob.yaml"
CONFIG, CRON_JOB = yaml.safe_load_all(FILE.read_text(encoding="utf-8"))
POD: dict[str, Any] = CRON_JOB["spec"]["jobTemplate"]["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
CHECK = """
import sys, yaml, kubernetes_validate
for document in yaml.safe_load_all(sys.stdin):
    print(document["kind"], kubernetes_validate.validate(document, sys.argv[1], strict=True))
"""


def check(text: str, version: str) -> subprocess.CompletedProcess[str]:
    command = [str(ENVIRONMENT / "python"), "-c", CHECK, version]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("version", ["1.31", "1.34", "1.37"])
def test_kubernetes_takes_it(version: str) -> None:
    done = check(FILE.read_text(encoding="utf-8"), version)
    assert (done.stdout, done.returncode) == (f"ConfigMap {version}\nCronJob {version}\n", 0), done.stderr


def test_what_it_would_not_take_is_noticed() -> None:
    done = check(FILE.read_text(encoding="utf-8").replace("concurrencyPolicy", "concurencyPolicy"), "1.37")
    assert done.returncode != 0
    assert "concurencyPolicy" in done.stderr


def test_its_policy_is_right() -> None:
    variables = {"LAKE_URI": "http://127.0.0.1:8181", "LAKE_CREDENTIAL": "me:secret"}
    policy = parse_policy(CONFIG["data"]["policy.yaml"], "policy.yaml", variables)
    assert policy.settings("lake", ["sales"], "orders") is not None


def test_what_it_names_is_there() -> None:
    volumes = {each["name"] for each in POD["volumes"]}
    assert {each["name"] for each in CONTAINER["volumeMounts"]} == volumes
    assert POD["volumes"][0]["configMap"]["name"] == CONFIG["metadata"]["name"]
    rules = CRON_JOB["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert [each["onExitCodes"]["containerName"] for each in rules] == [CONTAINER["name"]]
    built = (RECIPES / "kubernetes" / "Dockerfile").read_text(encoding="utf-8")
    assert CONTAINER["image"].endswith(f":{iceberg_zorder.__version__}")
    assert built.count(f"iceberg_zorder-{iceberg_zorder.__version__}-py3-none-any.whl") == 2


def run(lake: Lake) -> subprocess.CompletedProcess[str]:
    arguments = placed("\n".join(CONTAINER["args"]), lake).split("\n")
    program = str(Path(sys.executable).with_name("iceberg-zorder"))
    environment = {"LAKE_URI": lake.uri, "HOME": "/nonexistent"}
    return subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, timeout=240, check=False
    )


def test_the_container_writes_lines_of_json(lake: Lake) -> None:
    needy = lake.table("db.needy", 8)
    done = run(lake)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line.get("event") for line in lines] == [
        *("pass-began", "table-decided", "rewrite-began", "rewrite-ended", "pass-ended"),
        None,
    ]
    assert lines[-1]["rewritten_bytes"] > 0
    assert operations(needy)[-1] == "replace"


def test_a_refused_policy_is_the_exit_code_that_is_not_tried_again(lake: Lake) -> None:
    lake.policy.write_text(lake.policy.read_text().replace("by:", "bye:"), encoding="utf-8")
    (rule,) = CRON_JOB["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert [run(lake).returncode] == rule["onExitCodes"]["values"]
