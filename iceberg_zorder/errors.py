"""Exceptions: InvalidInputError before anything is done, RewriteFailedError after a rewrite has begun."""

from __future__ import annotations


class InvalidInputError(ValueError):
    """An argument, option, column or value that cannot be honoured.

    The message reads "Cannot X, because Y" and names what is wrong.

    Examples
    --------
    >>> raise InvalidInputError("Cannot set cuts to 'odd', because it must be 'even'")
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot set cuts to 'odd', because it must be 'even'
    """


class StalePlanError(InvalidInputError):
    """A plan that cannot be executed, because the table has changed since; nothing was begun.

    Examples
    --------
    >>> raise StalePlanError("Cannot execute the plan of db.t, because its schema has changed since")
    Traceback (most recent call last):
    iceberg_zorder.errors.StalePlanError: Cannot execute the plan of db.t, because its schema has changed since
    """


class RewriteFailedError(RuntimeError):
    """A rewrite that had begun, and could not be completed.

    Data files were read, and maybe written; the message says what was committed, and what became of the new files.
    Where nothing was begun, because an argument, an option or the table cannot be honoured, there is an
    :class:`InvalidInputError` instead.

    Examples
    --------
    >>> raise RewriteFailedError("Cannot complete the rewrite of db.t, because a file group failed")
    Traceback (most recent call last):
    iceberg_zorder.errors.RewriteFailedError: Cannot complete the rewrite of db.t, because a file group failed
    """


class CatalogUnreachedError(RewriteFailedError):
    """A catalog that does not answer; nothing was begun.

    Examples
    --------
    >>> raise CatalogUnreachedError("Cannot reach catalog lake at http://lake, because Connection refused")
    Traceback (most recent call last):
    iceberg_zorder.errors.CatalogUnreachedError: Cannot reach catalog lake at http://lake, because Connection refused
    """


class RewriteConflictError(RewriteFailedError):
    """A rewrite that was not committed, because another operation changed what it had read.

    Nothing of it is left: the table is as the other operation left it, and the new data files are deleted.

    Examples
    --------
    >>> raise RewriteConflictError("Cannot commit rewrite of db.t, because it conflicted with a delete")
    Traceback (most recent call last):
    iceberg_zorder.errors.RewriteConflictError: Cannot commit rewrite of db.t, because it conflicted with a delete
    """


class TakenOverError(RewriteFailedError):
    """A rewrite that was not committed, because its maintainer was taken for dead, and another has the table.

    What it had not committed yet is left undone, and the new data files of that are deleted.

    Examples
    --------
    >>> raise TakenOverError("Cannot commit rewrite of db.t, because another maintainer has taken the table over")
    Traceback (most recent call last):
    iceberg_zorder.errors.TakenOverError: Cannot commit rewrite of db.t, because another maintainer has taken the \
table over
    """


class UnknownOutcomeError(RewriteFailedError):
    """A rewrite of which nobody can tell whether it was committed; nothing of it is deleted.

    Examples
    --------
    >>> raise UnknownOutcomeError("Cannot tell whether the rewrite of db.t was committed")
    Traceback (most recent call last):
    iceberg_zorder.errors.UnknownOutcomeError: Cannot tell whether the rewrite of db.t was committed
    """
