"""File groups whose rewrite has brought nothing: a table remembers them, so that no run writes them in vain again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iceberg_zorder.upkeep.settled import key_of

PROPERTY = "zorder.left-file-groups"
"""Their keys, the newest last, with commas between."""
_OF_ONE_CALL = ("dry-run", "memory-limit-bytes", "spill-directory")
_MOST = 1_000

WHY = (
    "its new files were read no less when it was rewritten last, and it is as it was; rewrite-all rewrites it all the "
    "same"
)
"""Why such a file group is left."""


def group_key(way: str, settings: Mapping[str, str], paths: Iterable[str]) -> str:
    """Make the key of a file group that is rewritten in some way.

    Examples
    --------
    >>> group_key("a", {}, ["x", "y"]) == group_key("a", {}, ["y", "x"]) != group_key("b", {}, ["x", "y"])
    True
    """
    counted = sorted(f"{name}={value}" for name, value in settings.items() if name not in _OF_ONE_CALL)
    return key_of([way, *counted, *sorted(paths)])


def remembered(properties: Mapping[str, str]) -> frozenset[str]:
    """Read the keys that a table remembers.

    Examples
    --------
    >>> sorted(remembered({"zorder.left-file-groups": "1f, 2e,"})), sorted(remembered({}))
    (['1f', '2e'], [])
    """
    return frozenset(key.strip() for key in properties.get(PROPERTY, "").split(",") if key.strip())


def with_keys(properties: Mapping[str, str], keys: Iterable[str]) -> str:
    """Write the property with more keys; of more than 1,000 the oldest are forgotten.

    Examples
    --------
    >>> with_keys({"zorder.left-file-groups": "1f,2e"}, ["3d", "1f"])
    '2e,3d,1f'
    """
    new = list(keys)
    old = [key for key in properties.get(PROPERTY, "").split(",") if key and key not in new]
    return ",".join([*old, *new][-_MOST:])


def why_nothing(table: str, groups: int) -> str:
    """Say why all file groups are left.

    Examples
    --------
    >>> why_nothing("lake.db.t", 2)
    'Nothing to rewrite in lake.db.t: the new files of its 2 file groups were read no less when they were rewritten \
last, and the groups are as they were. To rewrite them anyway, set option rewrite-all to true.'
    """
    return (
        f"Nothing to rewrite in {table}: the new files of its {groups:,} file groups were read no less when they were "
        "rewritten last, and the groups are as they were. To rewrite them anyway, set option rewrite-all to true."
    )
