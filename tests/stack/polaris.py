"""A real Apache Polaris, where there is one: what its binary distribution has as ``server/quarkus-run.jar``.

Maven Central has no server that could be run as it is. Set ``POLARIS_SERVER`` to that file, and ``POLARIS_JAVA`` to a
Java of at least 21 if ``java`` is older.
"""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.stack.servers import free_port, running, wait

SERVER = os.environ.get("POLARIS_SERVER", "")
_JAVA = os.environ.get("POLARIS_JAVA", "java")
_ROOT = "root", "s3cr3t"


@dataclass(frozen=True)
class Polaris:
    """A server.

    Parameters
    ----------
    uri : str
        Its address.
    """

    uri: str

    def catalog(self, name: str, warehouse: Path) -> Mapping[str, str]:
        """Make a catalog of files in a directory; returns PyIceberg's properties for it."""
        location = f"file://{warehouse}"
        storage = {"storageType": "FILE", "allowedLocations": [location]}
        properties = {"default-base-location": location}
        made = {"type": "INTERNAL", "name": name, "properties": properties, "storageConfigInfo": storage}
        self._ask("POST", "management/v1/catalogs", {"catalog": made})
        right = {"grant": {"type": "catalog", "privilege": "CATALOG_MANAGE_CONTENT"}}
        self._ask("PUT", f"management/v1/catalogs/{name}/catalog-roles/catalog_admin/grants", right)
        return {
            "type": "rest",
            "uri": f"{self.uri}/api/catalog",
            "oauth2-server-uri": f"{self.uri}/api/catalog/v1/oauth/tokens",
            "warehouse": name,
            "credential": ":".join(_ROOT),
            "scope": "PRINCIPAL_ROLE:ALL",
            # Files of this machine need no credentials, and Polaris has none to give.
            "header.X-Iceberg-Access-Delegation": "",
        }

    def _ask(self, method: str, path: str, body: Any) -> None:
        said = {"grant_type": "client_credentials", "scope": "PRINCIPAL_ROLE:ALL"}
        said |= {"client_id": _ROOT[0], "client_secret": _ROOT[1]}
        token = requests.post(f"{self.uri}/api/catalog/v1/oauth/tokens", data=said, timeout=60).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        answer = requests.request(method, f"{self.uri}/api/{path}", json=body, headers=headers, timeout=60)
        assert answer.ok, answer.text


@contextmanager
def polaris(directory: Path) -> Iterator[Polaris]:
    """Run the server, which keeps everything in memory and rolls marked rewrites back; it stops with the block."""
    port, management = free_port(), free_port()
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": port,
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": management,
        "quarkus.log.file.enabled": "false",
        "polaris.persistence.type": "in-memory",
        "polaris.bootstrap.credentials": f"POLARIS,{_ROOT[0]},{_ROOT[1]}",
        "polaris.readiness.ignore-severe-issues": "true",
        'polaris.features."ALLOW_INSECURE_STORAGE_TYPES"': "true",
        'polaris.features."SUPPORTED_CATALOG_STORAGE_TYPES"': '["FILE"]',
        'polaris.features."ICEBERG_ROLLBACK_COMPACTION_ON_CONFLICTS"': "true",
    }
    command = [_JAVA, "-Xmx1g", *(f"-D{key}={value}" for key, value in settings.items()), "-jar", SERVER]
    with running(directory, "polaris", command) as log:
        wait(lambda: _is_ready(management), log)
        yield Polaris(f"http://127.0.0.1:{port}")


def _is_ready(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/q/health/ready", timeout=5) as answer:
        return bool(answer.status == 200)
    return False
