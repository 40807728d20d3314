"""Write the output files of commands, whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path

_NO_REPLACING = {errno.EACCES, errno.EBUSY, errno.EPERM, errno.EROFS, errno.EXDEV}


def replace_text(path: Path, text: str, *, flag: str) -> None:
    """Write a text beside a file, and put it in the file's place once all of it is there.

    Where nothing can be put in its place (a directory that may not be written to, a mounted file, a file of several
    names, a device), it is written to as it is. Raises an OSError that names the flag.
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
    """Replace a file, and keep its mode; return whether that is possible."""
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
