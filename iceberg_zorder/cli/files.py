"""Write the files that commands are asked for, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def replace_text(path: Path, text: str, *, flag: str) -> None:
    """Write a text beside a file, and put it in the file's place once all of it is there.

    What is no regular file, such as ``/dev/stdout``, is written to as it is. Raises an OSError that names the flag; the
    file is then as it was.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     page = Path(home, "page.html")
    ...     replace_text(page, "<p>", flag="--html")
    ...     page.read_text(), [each.name for each in Path(home).iterdir()]
    ('<p>', ['page.html'])
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()
        beside = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            beside.write_text(text, encoding="utf-8")
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(f"Cannot write {flag} {path}, because {error.strerror or error}") from error
