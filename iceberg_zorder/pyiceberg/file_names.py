"""The names of the files that rewrites write."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection


def data_file_name(stem: str, write_id: str = "") -> str:
    """Name a data file; no other has the name.

    Examples
    --------
    >>> is_of_write(data_file_name("00001-0", "f00ba4"), {"f00ba4"}), is_of_write(data_file_name("00001-0"), {"f00ba4"})
    (True, False)
    """
    return f"{stem}-{_tag(write_id)}{uuid.uuid4()}-zorder.parquet"


def manifest_name(write_id: str = "") -> str:
    """Name a manifest."""
    return f"zorder-{_tag(write_id)}{uuid.uuid4()}.avro"


def manifest_list_name(snapshot_id: int, write_id: str = "") -> str:
    """Name the manifest list of a snapshot."""
    return f"snap-{snapshot_id}-{_tag(write_id)}{uuid.uuid4()}.avro"


def is_of_write(name: str, write_ids: Collection[str]) -> bool:
    """Tell whether a file was written by one of some writes, by its name."""
    found = _OF_WRITE.fullmatch(name)
    return found is not None and found["id"] in write_ids


def new_write_id(address: str) -> str:
    """Make an id that no other write has, for one of a table that is found at an address: 8 hexadecimal digits.

    Examples
    --------
    >>> is_written_at(new_write_id("0badf00d"), "0badf00d"), is_written_at(new_write_id("0badf00d"), "f00dfeed")
    (True, False)
    """
    return f"w{address}{uuid.uuid4().hex}"


def is_leased(write_id: str) -> bool:
    """Tell whether a write is one of maintenance, which needs a lease.

    Examples
    --------
    >>> is_leased(new_write_id("0badf00d")), is_leased("f00dfeedf00dfeed")
    (True, False)
    """
    return write_id.startswith("w")


def is_written_at(write_id: str, address: str) -> bool:
    """Tell whether a write was one of the table at an address."""
    return re.fullmatch(f"w{re.escape(address)}[0-9a-f]{{32}}", write_id) is not None


def _tag(write_id: str) -> str:
    return f"{write_id}-" if write_id else ""


_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OF_WRITE = re.compile(rf".*-(?P<id>\w+)-{_UUID}(?:-zorder\.parquet|\.avro)")
