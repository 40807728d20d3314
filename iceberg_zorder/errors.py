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
