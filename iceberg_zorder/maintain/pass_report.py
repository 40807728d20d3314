"""The report of a maintenance pass, as values and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from iceberg_zorder.maintain.decide import Decision
from iceberg_zorder.maintain.observation import Observation, TableName, WorkloadNeed


@dataclass(frozen=True)
class Done:
    """The result of a table's rewrite."""

    rewritten_files: int
    added_files: int
    rewritten_bytes: int
    failed_files: int = 0
    """Data files of failed file groups, while other groups succeeded."""
    message: str | None = None
    why_failed: str | None = None
    follow_ups: tuple[str, ...] = ()
    """Completed follow-ups."""
    failed_follow_up: str | None = None
    """Why the remaining follow-ups were not done."""

    def shown(self, masked: Callable[[str], str]) -> Done:
        """Return the result with secrets masked in all texts."""
        texts: dict[str, Any] = {name: masked(text) for name, text in vars(self).items() if isinstance(text, str)}
        return replace(self, **texts, follow_ups=tuple(map(masked, self.follow_ups)))


@dataclass(frozen=True)
class TableReport:
    """A pass's decision and result for a table."""

    table: TableName
    decision: Decision | None = None
    """None if the table could not be observed."""
    observation: Observation | None = None
    done: Done | None = None
    error: str | None = None
    is_conflict: bool = False
    """Whether the rewrite lost to a concurrent writer."""


@dataclass(frozen=True)
class PassReport:
    """The decisions and results of a pass."""

    began: datetime
    ended: datetime
    tables: tuple[TableReport, ...]
    """The tables that rules match: rewritten ones first, in the order of their rewrites."""
    errors: tuple[str, ...] = ()
    """Errors of catalogs."""
    dry_run: bool = False
    unmatched: tuple[str, ...] = ()
    """Messages about rules that match no table."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report in JSON types; ``docs/reference/json/pass.md`` lists the keys."""
        return {
            "version": 1,
            "began": self.began.isoformat(),
            "ended": self.ended.isoformat(),
            "dry_run": self.dry_run,
            "rewritten_bytes": self.rewritten_bytes,
            "tables": [described(each) for each in self.tables],
            "errors": list(self.problems),
        }

    def summary(self) -> dict[str, Any]:
        """Return the report in JSON types, without the tables."""
        return {
            "seconds": (self.ended - self.began).total_seconds(),
            "rewritten_bytes": self.rewritten_bytes,
            "tables": len(self.tables),
            "conflicts": sum(each.is_conflict for each in self.tables),
            "failures": sum(each.error is not None and not each.is_conflict for each in self.tables),
            "errors": list(self.problems),
        }

    @property
    def rewritten_bytes(self) -> int:
        """Bytes of the rewritten data files."""
        return sum(each.done.rewritten_bytes for each in self.tables if each.done)

    @property
    def problems(self) -> tuple[str, ...]:
        """Errors of catalogs and rules."""
        return (*self.errors, *self.unmatched)

    @property
    def failures(self) -> tuple[str, ...]:
        """Errors of catalogs, rules and named tables; a rewrite that lost to a writer is not an error."""
        of_tables = (each.error for each in self.tables if each.error is not None and not each.is_conflict)
        return (*self.problems, *of_tables)

    @property
    def has_failed(self) -> bool:
        """Whether there is any error."""
        return bool(self.failures)


def described(report: TableReport) -> dict[str, Any]:
    """Return a table's report in JSON types; ``docs/reference/json/pass.md`` lists the keys."""
    decision, found = report.decision, report.observation
    return {
        "table": str(report.table),
        "action": "failed" if report.error and not report.is_conflict else decision.action if decision else "leave",
        "reason": decision.reason if decision else None,
        "file_groups": [asdict(each) for each in decision.groups] if decision else [],
        "deferred_file_groups": [asdict(each) for each in decision.deferred] if decision else [],
        "expected_saved_bytes": decision.saved_bytes if decision else 0.0,
        "workload": _workload(found.workload) if found and found.workload else None,
        "bytes": found.size if found else None,
        "data_files": found.files if found else None,
        "done": asdict(report.done) if report.done else None,
        "conflict": report.is_conflict,
        "error": report.error,
    }


def _workload(need: WorkloadNeed) -> dict[str, Any]:
    found = {**asdict(need), "message": need.text or None}
    del found["groups"]
    return found
