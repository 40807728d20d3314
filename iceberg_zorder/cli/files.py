"""Write the output files of commands, whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from pathlib import Path

_NO_REPLACING = {errno.EACCES, errno.EBUSY, errno.EPERM, errno.EROFS, errno.EXDEV}


def replace_text(path: Path, text: str, *, flag: str, mode: int = 0o600) -> None:
    """Replace a file's content atomically: write a temporary file beside it, then rename.

    A new file has the ``mode``, and a file of this user keeps its own. Nobody else can have made the temporary file.
    Files that cannot be replaced (read-only directories, mounted files, hard links, devices) are overwritten in place.
    Raises OSError with the flag's name.
    """
    try:
        is_kept = path.exists() and (not path.is_file() or path.stat().st_nlink > 1)
        if str(path) == "/dev/stdout":
            sys.stdout.write(text)
        elif is_kept or not _replaced(path.resolve(), text, mode):
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OSError(f"Cannot write {flag} {path}, because {error.strerror or error}") from error


def _replaced(path: Path, text: str, mode: int) -> bool:
    """Replace a file, keeping its mode if it is this user's; return False if the file system does not allow it."""
    beside: Path | None = None
    try:
        number, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
        beside = Path(name)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        if path.exists() and path.stat().st_uid == os.geteuid():
            shutil.copymode(path, beside)
        else:
            beside.chmod(mode)
        beside.replace(path)
    except OSError as error:
        if error.errno not in _NO_REPLACING:
            raise
        return False
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)
    return True
