"""Which metrics a table keeps of a column: Iceberg's rules for ``write.metadata.metrics.*``."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.types import IcebergType

from iceberg_zorder.pyiceberg.nested_fields import children
from iceberg_zorder.pyiceberg.properties import whole_number
from iceberg_zorder.request.metrics_check import COLUMN_MODE

_LOG = logging.getLogger(__name__)
_DEFAULT = "write.metadata.metrics.default"
_INFERRED = "write.metadata.metrics.max-inferred-column-defaults"
_TRUNCATE = re.compile(r"truncate\((\d+)\)", re.IGNORECASE)


@dataclass(frozen=True)
class MetricsMode:
    """What is kept of a column: ``none``, ``counts``, ``truncate`` to some length, or ``full``."""

    kind: str
    length: int | None = None

    @property
    def keeps_bounds(self) -> bool:
        """Whether lower and upper bounds are kept."""
        return self.kind in ("truncate", "full")

    @staticmethod
    def of(text: str) -> MetricsMode | None:
        """Read a mode as properties have it; None for what is none."""
        if text.lower() in ("none", "counts", "full"):
            return MetricsMode(text.lower())
        truncate = _TRUNCATE.fullmatch(text)
        return MetricsMode("truncate", int(truncate[1])) if truncate and int(truncate[1]) > 0 else None

    def __str__(self) -> str:
        return self.kind if self.length is None else f"{self.kind}({self.length})"


_TRUNCATED = MetricsMode("truncate", 16)
_NONE = MetricsMode("none")


@dataclass(frozen=True)
class MetricsConfig:
    """The modes of a table's columns by their full names, and that of all others."""

    columns: dict[str, MetricsMode]
    default: MetricsMode

    def mode(self, name: str) -> MetricsMode:
        """Tell the mode of a column, by its full name."""
        return self.columns.get(name, self.default)


def metrics_config(table: Table) -> MetricsConfig:
    """Read the modes from a table's properties, schema and sort order."""
    properties, schema = table.properties, table.schema()
    columns: dict[str, MetricsMode] = {}
    if _DEFAULT in properties:
        default = _mode(properties[_DEFAULT], _TRUNCATED)
    else:
        most = whole_number(properties, _INFERRED, 100)
        default = _TRUNCATED
        if len(_all_ids(schema.as_struct())) > most:
            default = _NONE
            eligible = list(_eligible(schema.as_struct()))[:most]
            columns = {schema.find_column_name(each) or "": _TRUNCATED for each in eligible}
    promoted = default if default.keeps_bounds else _TRUNCATED
    for ordered in table.sort_order().fields:
        if ordered.transform.preserves_order and (name := schema.find_column_name(ordered.source_id)):
            columns[name] = promoted
    for key, text in properties.items():
        if key.startswith(COLUMN_MODE):
            columns[key[len(COLUMN_MODE) :]] = _mode(text, default)
    return MetricsConfig(columns, default)


def _mode(text: str, otherwise: MetricsMode) -> MetricsMode:
    if mode := MetricsMode.of(text):
        return mode
    _LOG.warning("Ignoring metrics mode %s, which is none of none, counts, truncate(n) and full", text)
    return otherwise


def _all_ids(of: IcebergType) -> list[int]:
    """Ids of all fields, those of structs, lists and maps included."""
    found: list[int] = []
    for field_id, kind in children(of):
        found += [field_id, *_all_ids(kind)]
    return found


def _eligible(of: IcebergType) -> Iterator[int]:
    """Ids of primitive fields in the order in which Iceberg counts them: a struct's own first, then what is nested."""
    yield from (field_id for field_id, kind in children(of) if kind.is_primitive)
    for _, kind in children(of):
        yield from _eligible(kind)
