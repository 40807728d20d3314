"""Failures of commands: the message, the kind of failure, and the exit code of each kind."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, UnknownOutcomeError

FAILED, REFUSED, CONFLICT, UNKNOWN = 1, 2, 3, 4

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (InvalidInputError, REFUSED),
    (RewriteConflictError, CONFLICT),
    (UnknownOutcomeError, UNKNOWN),
)


@dataclass(frozen=True)
class Failure:
    """Why a command failed.

    Examples
    --------
    >>> Failure.of(RewriteConflictError("Cannot commit rewrite of db.t, because it conflicted with a delete")).exit_code
    3
    """

    kind: str
    message: str
    exit_code: int
    """1 failed, 2 refused before anything was begun, 3 conflict, 4 unknown outcome, or 128 and the number of a
    signal."""

    @staticmethod
    def of(error: Exception) -> Failure:
        """Describe an error; one that is none of ours is a failure."""
        code = next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
        return Failure(type(error).__name__, str(error).strip() or type(error).__name__, code)

    def to_dict(self) -> dict[str, object]:
        """Describe it by what JSON has."""
        return {"error": {"class": self.kind, "message": self.message, "exit_code": self.exit_code}}
