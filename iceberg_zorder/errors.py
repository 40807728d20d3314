"""Exceptions: InvalidInputError before a rewrite begins, RewriteFailedError afterwards."""

from __future__ import annotations


class InvalidInputError(ValueError):
    """An argument, option, column or value is invalid.

    The message reads "Cannot X, because Y" and names what is wrong.

    Examples
    --------
    >>> raise InvalidInputError("Cannot set cuts to 'odd', because it must be 'even'")
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot set cuts to 'odd', because it must be 'even'
    """


class StalePlanError(InvalidInputError):
    """A plan cannot be executed, because the table has changed since; nothing was read or written.

    Examples
    --------
    >>> raise StalePlanError("Cannot execute the plan of db.t, because its schema has changed since")
    Traceback (most recent call last):
    iceberg_zorder.errors.StalePlanError: Cannot execute the plan of db.t, because its schema has changed since
    """


class RewriteFailedError(RuntimeError):
    """A rewrite began and could not be completed.

    The message says which part was committed, and whether the new files were deleted. Requests that are refused before
    a rewrite begins raise :class:`InvalidInputError`.

    Examples
    --------
    >>> raise RewriteFailedError("Cannot complete the rewrite of db.t, because a file group failed")
    Traceback (most recent call last):
    iceberg_zorder.errors.RewriteFailedError: Cannot complete the rewrite of db.t, because a file group failed
    """


class CatalogUnreachedError(RewriteFailedError):
    """A catalog does not answer; nothing was read or written.

    Examples
    --------
    >>> raise CatalogUnreachedError("Cannot reach catalog lake at http://lake, because Connection refused")
    Traceback (most recent call last):
    iceberg_zorder.errors.CatalogUnreachedError: Cannot reach catalog lake at http://lake, because Connection refused
    """


class RewriteConflictError(RewriteFailedError):
    """A rewrite was not committed, because another operation changed the same files.

    The table is as the other operation left it, and the new data files are deleted.

    Examples
    --------
    >>> raise RewriteConflictError("Cannot commit rewrite of db.t, because it conflicted with a delete")
    Traceback (most recent call last):
    iceberg_zorder.errors.RewriteConflictError: Cannot commit rewrite of db.t, because it conflicted with a delete
    """


class TakenOverError(RewriteFailedError):
    """A rewrite was not committed, because another maintainer took the table after this one's lease expired.

    Earlier commits remain; uncommitted data files are deleted.

    Examples
    --------
    >>> raise TakenOverError("Cannot commit rewrite of db.t, because another maintainer has taken the table over")
    Traceback (most recent call last):
    iceberg_zorder.errors.TakenOverError: Cannot commit rewrite of db.t, because another maintainer has taken the \
table over
    """


class UnknownOutcomeError(RewriteFailedError):
    """The outcome of a commit is unknown; no file is deleted.

    Examples
    --------
    >>> raise UnknownOutcomeError("Cannot tell whether the rewrite of db.t was committed")
    Traceback (most recent call last):
    iceberg_zorder.errors.UnknownOutcomeError: Cannot tell whether the rewrite of db.t was committed
    """
