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
    """1 failed, 2 refused before the work began, 3 conflict, 4 unknown outcome, 128 + signal number if interrupted."""

    @staticmethod
    def of(error: Exception) -> Failure:
        """Describe an error; errors of other libraries get exit code 1."""
        code = next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
        return Failure(type(error).__name__, str(error).strip() or type(error).__name__, code)

    def to_dict(self) -> dict[str, object]:
        """Return the failure as it appears in JSON."""
        return {"error": {"class": self.kind, "message": self.message, "exit_code": self.exit_code}}
