"""What goes wrong for reasons that the caller can mend."""

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


class RewriteConflictError(RuntimeError):
    """A rewrite that was not committed, because another operation changed what it had read.

    Nothing of it is left: the table is as the other operation left it, and the new data files are deleted.

    Examples
    --------
    >>> raise RewriteConflictError("Cannot commit rewrite of db.t, because it conflicted with a delete")
    Traceback (most recent call last):
    iceberg_zorder.errors.RewriteConflictError: Cannot commit rewrite of db.t, because it conflicted with a delete
    """


class UnknownOutcomeError(RuntimeError):
    """A rewrite of which nobody can tell whether it was committed; nothing of it is deleted.

    Examples
    --------
    >>> raise UnknownOutcomeError("Cannot tell whether the rewrite of db.t was committed")
    Traceback (most recent call last):
    iceberg_zorder.errors.UnknownOutcomeError: Cannot tell whether the rewrite of db.t was committed
    """
