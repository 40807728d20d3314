"""Change properties of a table, in a commit of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.catalog.retry import is_not_committed, retry_commit, why
from iceberg_zorder.pyiceberg.commit.attempts import REFUSALS
from iceberg_zorder.pyiceberg.display import display_name


def change_properties(table: Table, properties: Mapping[str, str], removed: Collection[str] = ()) -> None:
    """Set properties, and remove others; again where others commit first, or the catalog fails.

    What is as wanted already is not committed again, which makes it safe to try again what may have been committed.
    """
    is_unclear = False

    def missing() -> tuple[dict[str, str], list[str]]:
        refresh(table)
        has = table.properties
        unset = {name: value for name, value in properties.items() if has.get(name) != value}
        return unset, [name for name in removed if name in has]

    def attempt() -> None:
        nonlocal is_unclear
        unset, surplus = missing()
        if not (unset or surplus):
            return
        try:
            _commit(table, unset, surplus)
        except Exception as error:
            is_unclear |= not isinstance(error, REFUSALS) and not is_not_committed(error)
            raise

    try:
        retry_commit(table.metadata.properties, attempt)
    except InvalidInputError:
        raise
    except Exception as error:
        settings = ", ".join(f"{name} = '{value}'" for name, value in properties.items())
        if is_unclear:
            with suppress(Exception):
                if not any(missing()):
                    return
            raise UnknownOutcomeError(
                f"Cannot tell whether {settings} was set on {display_name(table)}, because the catalog gave no clear "
                "answer. Nothing else was done: look at the table's properties."
            ) from error
        kind = RewriteConflictError if isinstance(error, CommitFailedException) else RewriteFailedError
        reason = f"because {why(error).rstrip('.')}. Nothing else was done."
        raise kind(f"Cannot set {settings} on {display_name(table)}, {reason}") from error


def _commit(table: Table, unset: dict[str, str], surplus: list[str]) -> None:
    with table.transaction() as transaction:
        if unset:
            transaction.set_properties(unset)
        if surplus:
            transaction.remove_properties(*surplus)
