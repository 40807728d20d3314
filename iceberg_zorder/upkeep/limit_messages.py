"""What is said of the data files that max-files-to-rewrite leaves, in the words of both engines."""

from __future__ import annotations


def why_later(limit: int) -> str:
    """Say why data files are left that are rewritten later.

    Examples
    --------
    >>> why_later(1200)
    'max-files-to-rewrite is 1,200'
    """
    return f"max-files-to-rewrite is {limit:,}"


def of_cut_group(files: int, all_files: int, limit: int) -> str:
    """Add to the reason of a file group that it is cut.

    Examples
    --------
    >>> of_cut_group(4, 20, 4)
    '; 4 of its 20 files, for max-files-to-rewrite is 4, and what is said here is of all 20'
    """
    return (
        f"; {files:,} of its {all_files:,} files, for {why_later(limit)}, and what is said here is of all {all_files:,}"
    )


def why_limited(waiting: int, limit: int, *, in_parts: bool) -> str:
    """Add to why nothing is rewritten what that has to do with the limit.

    Examples
    --------
    >>> why_limited(5, 8, in_parts=False)
    ' 5 more data files wait behind max-files-to-rewrite 8: raise it to reach them.'
    >>> why_limited(5, 8, in_parts=True).removeprefix(why_limited(5, 8, in_parts=False))
    ' A file group was looked at in part, for max-files-to-rewrite is 8; as a whole it may gain.'
    >>> why_limited(0, 8, in_parts=False)
    ''
    """
    wait = f" {waiting:,} more data files wait behind max-files-to-rewrite {limit:,}: raise it to reach them."
    part = f" A file group was looked at in part, for {why_later(limit)}; as a whole it may gain." if in_parts else ""
    return wait + part if waiting else ""
