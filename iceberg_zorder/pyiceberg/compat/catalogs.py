"""The catalog's configuration, and the request that commits a snapshot.

PyIceberg (0.12) has no public function that finds a catalog's properties and stops before it connects, and none that
commits a snapshot which the caller has written. When a release has one, it belongs here; else look at what
``load_catalog`` and ``Transaction.commit_transaction`` call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, AssertTableUUID, SetSnapshotRefUpdate
from pyiceberg.typedef import RecursiveDict
from pyiceberg.utils.config import Config, merge_config

from iceberg_zorder.errors import InvalidInputError


@contextmanager
def _reading_the_configuration() -> Iterator[None]:
    """Tell whatever goes wrong as a failure to read the configuration.

    Its parser raises exceptions of a package that PyIceberg chooses, and this project does not depend on.
    """
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise InvalidInputError(f"Cannot read the configuration of PyIceberg, because {error}") from error


with _reading_the_configuration():
    # Importing this module reads the configuration already.
    from pyiceberg.catalog import Catalog, CatalogType, infer_catalog_type, load_catalog
    from pyiceberg.catalog.rest import RestCatalog

__all__ = ["CatalogType", "configured", "infer_catalog_type", "is_rest", "load_catalog", "merge_config", "submit"]


class Configured(NamedTuple):
    """What PyIceberg's configuration says of a catalog: no properties where it does not know it; all known names."""

    name: str
    properties: RecursiveDict | None
    known: list[str]


def configured(name: str | None) -> Configured:
    """Read ``.pyiceberg.yaml`` and ``PYICEBERG_CATALOG__`` variables, as they are now."""
    with _reading_the_configuration():
        config = Config()
        chosen = config.get_default_catalog_name() if name is None else name
        return Configured(chosen, config.get_catalog_config(chosen), config.get_known_catalogs())


def is_rest(catalog: Catalog) -> bool:
    """Tell whether a catalog is one that is asked over REST."""
    return isinstance(catalog, RestCatalog)


def submit(table: Table, snapshot: Snapshot, branch: str) -> None:
    """Ask the catalog to make a snapshot the head of a branch; the table object then has the new metadata."""
    ref = table.metadata.refs[branch]
    # An update that leaves out how long a branch keeps its snapshots would take that from the branch.
    update = ref.model_dump(by_alias=True) | {"ref-name": branch, "snapshot-id": snapshot.snapshot_id}
    required = {"ref": branch, "snapshot-id": snapshot.parent_snapshot_id}
    # What a Transaction does at its end, after it has made up the updates itself.
    table._do_commit(
        updates=(AddSnapshotUpdate(snapshot=snapshot), SetSnapshotRefUpdate.model_validate(update)),
        requirements=(AssertTableUUID(uuid=table.metadata.table_uuid), AssertRefSnapshotId.model_validate(required)),
    )
