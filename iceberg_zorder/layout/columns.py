"""Clustering columns: a name of one or more parts, and an Iceberg type."""

from __future__ import annotations

import re
from dataclasses import dataclass

from iceberg_zorder.errors import InvalidInputError

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ClusteringColumn:
    """A column to cluster by.

    Parameters
    ----------
    parts : tuple of str
        The column's name and, if it is nested, the names of the fields down to it; at least one.
    type : str
        Its type as Iceberg writes it, such as ``"long"`` or ``"decimal(10, 2)"``.

    Raises
    ------
    InvalidInputError
        When there is no part.

    Examples
    --------
    >>> ClusteringColumn(("address", "zip code"), "string").name
    'address.`zip code`'
    """

    parts: tuple[str, ...]
    type: str

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidInputError("Cannot cluster by a column, because it has no name")

    @property
    def name(self) -> str:
        """The parts joined by dots, in backticks where a part is not a plain word."""
        return quoted_name(self.parts)


def quoted_name(parts: tuple[str, ...]) -> str:
    """Join the parts of a name, in backticks where a part is not a plain word.

    Parameters
    ----------
    parts : tuple of str
        The parts, each taken literally.

    Returns
    -------
    str
        A text that :func:`iceberg_zorder.request.sort_order.parse_name` reads back.

    Examples
    --------
    >>> quoted_name(("a", "b.c", "d`e"))
    'a.`b.c`.`d``e`'
    """
    return ".".join(part if _PLAIN.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in parts)
