"""Write the output files of commands, whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path

_NO_REPLACING = {errno.EACCES, errno.EBUSY, errno.EPERM, errno.EROFS, errno.EXDEV}


def replace_text(path: Path, text: str, *, flag: str) -> None:
    """Replace a file's content atomically: write a temporary file beside it, then rename.

    Files that cannot be replaced (read-only directories, mounted files, hard links, devices) are overwritten in place.
    Raises OSError with the flag's name.
    """
    try:
        is_kept = path.exists() and (not path.is_file() or path.stat().st_nlink > 1)
        if str(path) == "/dev/stdout":
            sys.stdout.write(text)
        elif is_kept or not _replaced(path.resolve(), text):
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OSError(f"Cannot write {flag} {path}, because {error.strerror or error}") from error


def _replaced(path: Path, text: str) -> bool:
    """Replace a file, keeping its mode; return False if the file system does not allow it."""
    beside = path.with_name(f".{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    except OSError as error:
        if error.errno not in _NO_REPLACING:
            raise
        return False
    finally:
        beside.unlink(missing_ok=True)
    return True
