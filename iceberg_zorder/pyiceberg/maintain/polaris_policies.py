"""Ask Apache Polaris which of its policies of compaction apply to a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import ForbiddenError, NoSuchTableError

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.observation import TableName
from iceberg_zorder.maintain.policy.polaris import POLICY_TYPE, from_polaris
from iceberg_zorder.pyiceberg.catalog.retry import load_first
from iceberg_zorder.pyiceberg.compat.rest import ask, is_rest

_ROOT, _ENDPOINT = "polaris", "applicable-policies"
_POLICIES, _NEXT = "applicable-policies", "next-page-token"
# Parts of a namespace, as Iceberg's REST protocol writes them in one text.
_SEPARATOR = "\x1f"
_LONGEST_ANSWER = 300
_MOST_PAGES = 1_000
"""A table has at most one policy of a type from each level above it, so that no server has more to say."""


class PolarisPolicies:
    """The policies of a catalog's tables, as they were when they were asked for.

    Parameters
    ----------
    name : str
        The catalog's name, for messages.
    catalog : pyiceberg.catalog.Catalog
        The catalog.

    Raises
    ------
    InvalidInputError
        When it is no REST catalog.
    """

    def __init__(self, name: str, catalog: Catalog) -> None:
        if not is_rest(catalog):
            raise InvalidInputError(f"catalog {name} has no policies of Polaris: it is none of type rest")
        self._catalog = catalog
        self._found: dict[TableName, list[Any]] = {}
        self._forbidden: dict[TableName, str] = {}

    def ask(self, table: TableName) -> bool:
        """Ask for the policies that apply to a table.

        Parameters
        ----------
        table : TableName
            The table.

        Returns
        -------
        bool
            Whether there are any. That it is forbidden to ask is kept for :meth:`settings` and :meth:`check`.

        Raises
        ------
        InvalidInputError
            When the server does not answer as Polaris does.
        """
        try:
            self._found[table] = load_first(lambda: self._all_pages(table))
        except ForbiddenError as error:
            self._forbidden[table] = _short(error)
        except NoSuchTableError as error:
            # Whoever knows nothing of policies knows no such address, and says it in other words.
            if not str(error).startswith("NoSuch"):
                raise _not_answered(table, error) from error
        except Exception as error:
            raise _not_answered(table, error) from error
        return bool(self._found.get(table))

    def check(self) -> None:
        """Refuse a catalog that answers for no table; raises InvalidInputError."""
        if self._forbidden and not self._found:
            raise InvalidInputError(next(iter(self._forbidden.values())))

    def settings(self, table: TableName) -> dict[str, Any]:
        """Read the settings of a table from the policies that were found.

        Raises
        ------
        InvalidInputError
            When a policy is wrong, or it was forbidden to ask.
        """
        if table in self._forbidden:
            raise InvalidInputError(f"Cannot honour its policies of Polaris, because {self._forbidden[table]}")
        return from_polaris({_POLICIES: self._found.get(table, [])})

    def _all_pages(self, table: TableName) -> list[Any]:
        asked = {
            "namespace": _SEPARATOR.join(table.namespace),
            "target-name": table.name,
            "policyType": POLICY_TYPE,
        }
        found: list[Any] = []
        for _ in range(_MOST_PAGES):
            answer = ask(self._catalog, _ROOT, _ENDPOINT, asked)
            policies = answer.get(_POLICIES) if isinstance(answer, Mapping) else None
            if not isinstance(policies, list) or not all(isinstance(each, Mapping) for each in policies):
                raise ValueError(f"the answer has no list {_POLICIES}")
            found += policies
            if not answer.get(_NEXT):
                return found
            asked["pageToken"] = str(answer[_NEXT])
        raise ValueError(f"the answer has more than {_MOST_PAGES:,} pages")


def _not_answered(table: TableName, error: Exception) -> InvalidInputError:
    return InvalidInputError(f"it was asked for the policies of {table}, as Polaris has them: {_short(error)}")


def _short(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text if len(text) <= _LONGEST_ANSWER else f"{text[:_LONGEST_ANSWER]}..."
