"""A server of ours that does what Apache Polaris documents: it rolls marked rewrites back.

Written after the source of Polaris 1.4 and 1.7 (``CatalogHandlerUtils``, the policy API) and of Lakekeeper
(``transparent_commit``), which decide alike but for what is said below. It is no proof that they do.
``tests/pyiceberg/maintain/test_roll_back.py`` runs against a real Polaris, too, where there is one.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import CommitTableRequest, Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.table.snapshots import Operation, Snapshot, ancestors_of
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    RemoveSnapshotsUpdate,
    SetSnapshotRefUpdate,
    update_table_metadata,
)

from tests.stack.rest import RestServer, serving

_KEY = "polaris.internal.conflict-resolution.by-operation-type.replace"


class PolarisLikeServer(RestServer):
    """A server that rolls rewrites back, if told to.

    Parameters
    ----------
    catalog : pyiceberg.catalog.Catalog
        Where the tables are.
    """

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        self.rolls_back = True
        """Whether commits roll marked rewrites back: ICEBERG_ROLLBACK_COMPACTION_ON_CONFLICTS."""
        self._one_at_a_time = threading.Lock()

    def commit(self, table: Table, request: CommitTableRequest) -> None:
        """Carry a commit out; what is refused may be let in once rewrites are rolled back."""
        with self._one_at_a_time:
            try:
                super().commit(table, request)
            except CommitFailedException:
                before = rolled_back(table.metadata, request) if self.rolls_back else None
                if before is None:
                    raise
                for requirement in request.requirements:
                    requirement.validate(before)
                self._replace(table, update_table_metadata(before, request.updates))

    def _replace(self, table: Table, metadata: TableMetadata) -> None:
        location = f"{table.location()}/metadata/99999-{uuid.uuid4()}.metadata.json"
        ToOutputFile.table_metadata(metadata, table.io.new_output(location))
        self.catalog.drop_table(table.name())
        self.catalog.register_table(table.name(), location)


def rolled_back(metadata: TableMetadata, request: CommitTableRequest) -> TableMetadata | None:
    """The table without the rewrites that are in a commit's way; None where that is not all that is.

    Lakekeeper also stops at twenty of them, and at a table of version 3 whose rewrites have rows of their own.
    """
    asserted = [each for each in request.requirements if isinstance(each, AssertRefSnapshotId)]
    added = [each for each in request.updates if isinstance(each, AddSnapshotUpdate)]
    branches = [each for each in request.updates if isinstance(each, SetSnapshotRefUpdate)]
    if not len(asserted) == len(added) == len(branches) == 1:
        return None
    assert not isinstance(metadata, TableMetadataV1)
    branch, wanted = branches[0].ref_name, asserted[0].snapshot_id
    head = _snapshot(metadata, metadata.refs[branch].snapshot_id)
    if wanted is None or head.sequence_number != metadata.last_sequence_number:
        return None
    others = [ref.snapshot_id for name, ref in metadata.refs.items() if name != branch]
    kept = {each.snapshot_id for other in others for each in ancestors_of(_snapshot(metadata, other), metadata)}
    gone = []
    for snapshot in ancestors_of(head, metadata):
        if snapshot.snapshot_id == wanted:
            break
        if not _is_marked(snapshot) or snapshot.snapshot_id in kept:
            return None
        gone.append(snapshot.snapshot_id)
    else:
        return None
    ref = metadata.refs[branch].model_dump(by_alias=True) | {"ref-name": branch, "snapshot-id": wanted}
    updates = (SetSnapshotRefUpdate.model_validate(ref), RemoveSnapshotsUpdate.model_validate({"snapshot-ids": gone}))
    number = _snapshot(metadata, wanted).sequence_number
    return update_table_metadata(metadata, updates).model_copy(update={"last_sequence_number": number})


def _is_marked(snapshot: Snapshot) -> bool:
    summary = snapshot.summary
    assert summary is not None
    return summary.operation == Operation.REPLACE and summary.additional_properties.get(_KEY) == "rollback"


def _snapshot(metadata: TableMetadata, snapshot_id: int) -> Snapshot:
    found = metadata.snapshot_by_id(snapshot_id)
    assert found is not None
    return found


@contextmanager
def like_polaris(catalog: Catalog) -> Iterator[PolarisLikeServer]:
    """Run such a server; it stops with the block."""
    with serving(PolarisLikeServer(catalog)) as server:
        yield server
