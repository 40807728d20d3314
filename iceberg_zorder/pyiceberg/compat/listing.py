"""List the files under a location, which no FileIO of PyIceberg does by itself.

It needs how PyIceberg's two FileIOs find their filesystems. With each new release of PyIceberg: see whether a FileIO
lists files, which takes the place of this module, and run tests/pyiceberg/maintain/test_leases.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pyarrow.fs as pa_fs
from pyiceberg.io import FileIO
from pyiceberg.io.fsspec import FsspecFileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from iceberg_zorder.errors import InvalidInputError


def list_files(io: FileIO, root: str) -> Iterator[str]:
    """List the files under a location."""
    scheme, netloc, path = PyArrowFileIO.parse_location(root, io.properties)
    if isinstance(io, PyArrowFileIO):
        filesystem = cast(Any, io.fs_by_scheme)(scheme, netloc)
        selector = pa_fs.FileSelector(path, recursive=True, allow_not_found=True)
        for info in filesystem.get_file_info(selector):
            if info.type == pa_fs.FileType.File:
                yield root + info.path[len(path) :]
    elif isinstance(io, FsspecFileIO):
        found = cast(Any, io.get_fs(scheme))
        for name in found.find(root) if found.exists(root) else ():
            yield root + name[name.index(path) + len(path) :]
    else:
        raise InvalidInputError(
            f"Cannot list the files under {root}, because a FileIO of the kind {type(io).__name__} lists none"
        )
