"""Change properties of a table, in a commit of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.catalog.retry import is_not_committed, is_transient, retry_commit, why
from iceberg_zorder.pyiceberg.commit.attempts import REFUSALS
from iceberg_zorder.pyiceberg.display import display_name


def change_properties(table: Table, properties: Mapping[str, str], removed: Collection[str] = ()) -> None:
    """Set properties, and remove others; again where others commit first, or the catalog fails.

    What is as wanted already is not committed again, which makes it safe to try again what may have been committed.
    """
    change = _Change(table, properties, removed)
    try:
        retry_commit(
            table.metadata.properties, change.attempt, lambda error: is_not_committed(error) or is_transient(error)
        )
    except InvalidInputError:
        raise
    except Exception as error:
        if change.is_unclear and change.is_made():
            return
        settings = ", ".join(f"{name} = '{value}'" for name, value in properties.items())
        if change.is_unclear:
            raise UnknownOutcomeError(
                f"Cannot tell whether {settings} was set on {display_name(table)}, because the catalog gave no clear "
                "answer. Nothing else was done: look at the table's properties."
            ) from error
        kind = RewriteConflictError if isinstance(error, CommitFailedException) else RewriteFailedError
        reason = f"because {why(error).rstrip('.')}. Nothing else was done."
        raise kind(f"Cannot set {settings} on {display_name(table)}, {reason}") from error


class _Change:
    """The change, and whether the catalog may have made it without saying so."""

    def __init__(self, table: Table, properties: Mapping[str, str], removed: Collection[str]) -> None:
        self._table = table
        self._properties = properties
        self._removed = removed
        self.is_unclear = False

    def attempt(self) -> None:
        """Ask the catalog for what is missing."""
        refresh(self._table)
        has = self._table.properties
        missing = {name: value for name, value in self._properties.items() if has.get(name) != value}
        surplus = [name for name in self._removed if name in has]
        if not missing and not surplus:
            return
        try:
            with self._table.transaction() as transaction:
                if missing:
                    transaction.set_properties(missing)
                if surplus:
                    transaction.remove_properties(*surplus)
        except Exception as error:
            self.is_unclear |= not isinstance(error, REFUSALS) and not is_not_committed(error)
            raise

    def is_made(self) -> bool:
        """Tell whether the table is known to be as wanted."""
        with suppress(Exception):
            refresh(self._table)
            has = self._table.properties
            is_set = all(has.get(name) == value for name, value in self._properties.items())
            return is_set and not any(name in has for name in self._removed)
        return False
