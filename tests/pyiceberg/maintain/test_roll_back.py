"""Writers win: a real Apache Polaris that is told to rolls marked rewrites back for them.

Maven Central has no server that could be run as it is. Set ``POLARIS_SERVER`` to the ``server/quarkus-run.jar`` of its binary
distribution, and ``POLARIS_JAVA`` to a Java of at least 21 if ``java`` is older.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
import requests
import yaml
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import ValidationException
from pyiceberg.table import Table

from iceberg_zorder.maintain.maintenance_pass import MaintenancePass
from iceberg_zorder.maintain.pass_report import TableReport
from iceberg_zorder.maintain.policy.read import parse_policy
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables
from tests.maintain.lake import append as append_files
from tests.maintain.lake import rows_of
from tests.pyiceberg.committing import operations
from tests.stack.servers import free_port, running, wait

SERVER = os.environ.get("POLARIS_SERVER", "")
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not SERVER, reason="there is no Polaris: set POLARIS_SERVER to its quarkus-run.jar"),
]
NOW = datetime.now(timezone.utc).replace(microsecond=0)
DEFAULTS = {"by": ["x", "y"], "options": {"min-age-seconds": 0, "target-file-size-bytes": 40000}}
SMALL = 1_000_000_000


@pytest.fixture(scope="module")
def properties(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """PyIceberg's properties for a catalog of a server that keeps everything in memory and rolls marked rewrites back."""
    home, port, management = tmp_path_factory.mktemp("polaris"), free_port(), free_port()
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": port,
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": management,
        "quarkus.log.file.enabled": "false",
        "polaris.persistence.type": "in-memory",
        "polaris.bootstrap.credentials": "POLARIS,root,s3cr3t",
        "polaris.readiness.ignore-severe-issues": "true",
        'polaris.features."ALLOW_INSECURE_STORAGE_TYPES"': "true",
        'polaris.features."SUPPORTED_CATALOG_STORAGE_TYPES"': '["FILE"]',
        'polaris.features."ICEBERG_ROLLBACK_COMPACTION_ON_CONFLICTS"': "true",
    }
    java = os.environ.get("POLARIS_JAVA", "java")
    api, scope = f"http://127.0.0.1:{port}/api", "PRINCIPAL_ROLE:ALL"
    tokens = f"{api}/catalog/v1/oauth/tokens"

    def is_ready() -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{management}/q/health/ready", timeout=5).ok
        except OSError:
            return False

    def ask(method: str, path: str, body: Any) -> None:
        said = {"grant_type": "client_credentials", "scope": scope, "client_id": "root", "client_secret": "s3cr3t"}
        headers = {"Authorization": f"Bearer {requests.post(tokens, data=said, timeout=60).json()['access_token']}"}
        answer = requests.request(method, f"{api}/management/v1/catalogs{path}", json=body, headers=headers, timeout=60)
        assert answer.ok, answer.text

    command = [java, "-Xmx1g", *(f"-D{key}={value}" for key, value in settings.items()), "-jar", SERVER]
    with running(home, "polaris", command) as log:
        wait(is_ready, log)
        (home / "warehouse").mkdir()
        location = f"file://{home}/warehouse"
        made = {"type": "INTERNAL", "name": "lake", "properties": {"default-base-location": location}}
        made["storageConfigInfo"] = {"storageType": "FILE", "allowedLocations": [location]}
        ask("POST", "", {"catalog": made})
        right = {"grant": {"type": "catalog", "privilege": "CATALOG_MANAGE_CONTENT"}}
        ask("PUT", "/lake/catalog-roles/catalog_admin/grants", right)
        # Files of this machine need no credentials, and Polaris has none to give.
        uris = {"uri": f"{api}/catalog", "oauth2-server-uri": tokens, "header.X-Iceberg-Access-Delegation": ""}
        yield {"type": "rest", **uris, "warehouse": "lake", "credential": "root:s3cr3t", "scope": scope}


@pytest.fixture
def catalog(properties: Mapping[str, str]) -> Iterator[Catalog]:
    catalog = load_catalog("lake", **properties)
    catalog.create_namespace_if_not_exists("db")
    append_files(catalog.create_table("db.t", pa.schema([("x", pa.int64()), ("y", pa.int64())])), 8)
    yield catalog
    catalog.drop_table("db.t")


def maintain(properties: Mapping[str, str], after: timedelta = timedelta(), **settings: Any) -> TableReport:
    """Run a pass over the only table, some time after the first one."""
    said = {"version": 1, "catalogs": {"lake": dict(properties)}, "defaults": DEFAULTS, "tables": {"*": settings}}
    policy = parse_policy(yaml.safe_dump(said), "policy.yaml", {})
    tables = PyIcebergTables(policy, lambda: NOW + after)
    (report,) = MaintenancePass(policy, tables, lambda: NOW + after).run().tables
    return report


def delete(table: Table) -> None:
    table.delete(f"x < {SMALL}")


def append(table: Table) -> None:
    table.append(pa.table({"x": [1], "y": [2]}))


@pytest.mark.parametrize("write", [delete, append])
def test_a_writer_wins_and_the_rewrite_is_made_again(
    catalog: Catalog, properties: Mapping[str, str], write: Callable[[Table], None]
) -> None:
    stale = catalog.load_table("db.t")
    before = rows_of(stale)
    wanted = [row for row in before if row[0] >= SMALL] if write is delete else sorted([*before, (1, 2)])
    assert maintain(properties).done is not None
    table = catalog.load_table("db.t")
    assert (operations(table), rows_of(table)) == (["append"] * 8 + ["replace"], before)

    # It knows nothing of the rewrite, whose files it may not leave out.
    write(stale)
    assert operations(table)[:8] == ["append"] * 8
    assert "replace" not in operations(table)
    assert rows_of(table) == wanted

    assert maintain(properties, timedelta(minutes=20)).done is not None
    maintain(properties, timedelta(days=2))
    assert rows_of(table) == wanted


def test_without_markers_the_writer_fails_as_ever(catalog: Catalog, properties: Mapping[str, str]) -> None:
    stale = catalog.load_table("db.t")
    before = rows_of(stale)
    maintain(properties, conflicts={"markers": False})
    with pytest.raises(ValidationException):
        delete(stale)
    table = catalog.load_table("db.t")
    assert (operations(table)[-1], rows_of(table)) == ("replace", before)
    assert not maintain(properties, timedelta(minutes=5)).is_conflict
