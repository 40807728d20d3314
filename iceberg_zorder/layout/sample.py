"""The joint row sample of the clustering columns."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.keys import KeyColumn


@dataclass(frozen=True, eq=False)
class Sample:
    """Keys of sampled rows, one column per clustering column.

    Parameters
    ----------
    columns : tuple of KeyColumn
        Columns of equal length; row i of every column is of one row of the table.

    Raises
    ------
    InvalidInputError
        When the lengths differ.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.keys import encode
    >>> Sample((encode(pa.array([1, 2]), "long"), encode(pa.array(["a", None]), "string"))).rows
    2
    """

    columns: tuple[KeyColumn, ...]

    def __post_init__(self) -> None:
        lengths = {column.rows for column in self.columns}
        if len(lengths) > 1:
            raise InvalidInputError(f"Cannot sample columns of {sorted(lengths)} rows, because a sample has whole rows")

    @property
    def rows(self) -> int:
        """Number of sampled rows."""
        return self.columns[0].rows if self.columns else 0
