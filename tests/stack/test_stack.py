"""The whole stack as a user starts it, and what maintenance does in it."""

import json
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.request import urlopen

import pyarrow as pa
import pytest
import yaml
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from tests.maintain.lake import append
from tests.pyiceberg.committing import summary_of

WAIT = 180


def started(log: Path) -> tuple[str, Path]:
    """Wait for the stack; the address of the maintainer's metrics, and its policy."""
    until = time.monotonic() + 300
    while "Ctrl-C stops it all" not in (said := " ".join(re.sub(r"[│┃]", " ", log.read_text()).split())):
        assert time.monotonic() < until, said
        time.sleep(1)
    address = re.search(r"http://127\.0\.0\.1:\d+/metrics", said)
    policy = re.search(r"policy\s+(\S+/policy\.yaml)", said)
    assert address
    assert policy, said
    return address[0].removesuffix("/metrics"), Path(policy[1])


def needy(catalog: Catalog, name: str) -> Table:
    catalog.create_namespace_if_not_exists("db")
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    made = catalog.create_table(name, schema, properties={"zorder.columns": "a, b"})
    append(made, 8)
    return made


def is_rewritten(table: Table) -> bool:
    return summary_of(table)["operation"] == "replace"


@pytest.mark.full
def test_tables_of_both_catalogs_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "stack.log"
    with log.open("w") as out:
        environment = {"COLUMNS": "400", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        stack = subprocess.Popen(
            [sys.executable, "-m", "tests.stack"], stdout=out, stderr=subprocess.STDOUT, env=environment
        )
    try:
        address, policy = started(log)
        properties = yaml.safe_load(policy.read_text())["catalogs"]
        with ExitStack() as open_catalogs:
            catalogs = [open_catalogs.enter_context(closing(load_catalog(n, **each))) for n, each in properties.items()]
            made = [needy(catalog, "db.needy") for catalog in catalogs]
            until = time.monotonic() + WAIT
            while not all(is_rewritten(each.refresh()) for each in made):
                assert time.monotonic() < until
                time.sleep(2)
            assert [each.scan().count() for each in made] == [16_000, 16_000]
        with urlopen(f"{address}/health", timeout=10) as answer:
            assert json.loads(answer.read()) == {"status": "ok"}
    finally:
        stack.send_signal(signal.SIGINT)
        assert stack.wait(timeout=120) == 0, log.read_text()
    assert not policy.exists()
