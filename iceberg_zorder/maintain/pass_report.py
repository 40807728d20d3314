"""The report of a pass of maintenance, as values and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from iceberg_zorder.maintain.decide import Decision
from iceberg_zorder.maintain.observation import Observation, TableName, WorkloadNeed


@dataclass(frozen=True)
class Done:
    """What was done to a table."""

    rewritten_files: int
    added_files: int
    rewritten_bytes: int
    failed_files: int = 0
    """Data files whose file group could not be rewritten, while others were."""
    message: str | None = None
    why_failed: str | None = None
    follow_ups: tuple[str, ...] = ()
    """What was done afterwards."""
    failed_follow_up: str | None = None
    """Why no more was done afterwards."""

    def shown(self, masked: Callable[[str], str]) -> Done:
        """Have texts masked, which may come from anywhere."""
        texts: dict[str, Any] = {name: masked(text) for name, text in vars(self).items() if isinstance(text, str)}
        return replace(self, **texts, follow_ups=tuple(map(masked, self.follow_ups)))


@dataclass(frozen=True)
class TableReport:
    """What a pass did about a table."""

    table: TableName
    decision: Decision | None = None
    """None where it could not be observed."""
    observation: Observation | None = None
    done: Done | None = None
    error: str | None = None
    is_conflict: bool = False
    """Whether writers were in the way of the rewrite: they have won."""


@dataclass(frozen=True)
class PassReport:
    """What a pass did."""

    began: datetime
    ended: datetime
    tables: tuple[TableReport, ...]
    """The tables that rules of the policy are for: first those that were rewritten, in this order."""
    errors: tuple[str, ...] = ()
    """What went wrong with catalogs."""
    dry_run: bool = False
    unmatched: tuple[str, ...] = ()
    """What is wrong with rules that are for no table."""

    def to_dict(self) -> dict[str, Any]:
        """Describe the pass by what JSON has; ``docs/do/keep-a-table.md`` tells the keys."""
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
        """Describe the pass without its tables."""
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
        """Bytes of data files that were rewritten."""
        return sum(each.done.rewritten_bytes for each in self.tables if each.done)

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong with catalogs, and what is wrong with rules."""
        return (*self.errors, *self.unmatched)

    @property
    def failures(self) -> tuple[str, ...]:
        """What went wrong with catalogs, rules and tables, which it names; that writers have won is no failure."""
        of_tables = (each.error for each in self.tables if each.error is not None and not each.is_conflict)
        return (*self.problems, *of_tables)

    @property
    def has_failed(self) -> bool:
        """Whether anything went wrong."""
        return bool(self.failures)


def described(report: TableReport) -> dict[str, Any]:
    """Describe what was done about a table by what JSON has; ``docs/do/keep-a-table.md`` tells the keys."""
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
