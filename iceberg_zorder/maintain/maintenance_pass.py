"""One pass of maintenance: observe, decide, act, report.

Nothing is kept between passes but what is in the tables, and how long tables are left in peace after conflicts, which a
loop remembers. What happens to one table stops no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError
from iceberg_zorder.maintain.decide import Circumstances, Decision, decide
from iceberg_zorder.maintain.observation import Observation, TableName
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.settings import TableSettings


class HeldByAnotherError(Exception):
    """Another maintainer is at the table: it is left to that one."""


@dataclass(frozen=True)
class Done:
    """What was done to a table.

    Parameters
    ----------
    rewritten_files, added_files : int
        Data files that were replaced, and those that took their place.
    rewritten_bytes : int
        Bytes of the former.
    failed_files : int
        Data files whose file group could not be rewritten, while others were.
    message : str or None
        What else is to be known.
    follow_ups : tuple of str
        What was done afterwards.
    failed_follow_up : str or None
        Why no more was done afterwards.
    """

    rewritten_files: int
    added_files: int
    rewritten_bytes: int
    failed_files: int = 0
    message: str | None = None
    follow_ups: tuple[str, ...] = ()
    failed_follow_up: str | None = None


class Tables(Protocol):
    """The tables of a policy's catalogs, and what can be done with them."""

    def names(self, catalog: str) -> Iterable[TableName]:
        """List the tables of a catalog; raises whatever the catalog does."""

    def settings(self, name: TableName) -> TableSettings | None:
        """Find what the policy says of a table, and the table itself; None where no rule is for it."""

    def observe(self, name: TableName, settings: TableSettings, now: datetime) -> Observation:
        """Find out what a table needs, from its metadata; raises InvalidInputError where that cannot be."""

    def rewrite(self, decision: Decision, settings: TableSettings) -> Done:
        """Rewrite the file groups of a decision; raises as a rewrite does, or HeldByAnotherError."""

    def clean_up(self, name: TableName, settings: TableSettings) -> None:
        """Delete files of a table that maintainers which were killed have left, if it is time; raises as it may."""


@dataclass(frozen=True)
class TableReport:
    """What a pass did about a table.

    Parameters
    ----------
    table : TableName
        The table.
    decision : Decision or None
        What was decided; None where it could not be observed.
    observation : Observation or None
        What was found.
    done : Done or None
        What was done, if anything was.
    error : str or None
        What went wrong.
    is_conflict : bool
        Whether writers were in the way: they have won.
    """

    table: TableName
    decision: Decision | None = None
    observation: Observation | None = None
    done: Done | None = None
    error: str | None = None
    is_conflict: bool = False


@dataclass(frozen=True)
class PassReport:
    """What a pass did.

    Parameters
    ----------
    began, ended : datetime.datetime
        When, with time zones.
    tables : tuple of TableReport
        The tables that rules of the policy are for: first those that were rewritten, in this order.
    errors : tuple of str
        What went wrong with catalogs.
    dry_run : bool
        Whether nothing was to be done.
    """

    began: datetime
    ended: datetime
    tables: tuple[TableReport, ...]
    errors: tuple[str, ...] = ()
    dry_run: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Describe the pass by what JSON has; ``docs/maintenance.md`` tells the keys."""
        return {
            "version": 1,
            "began": self.began.isoformat(),
            "ended": self.ended.isoformat(),
            "dry_run": self.dry_run,
            "rewritten_bytes": self.rewritten_bytes,
            "tables": [_described(each) for each in self.tables],
            "errors": list(self.errors),
        }

    @property
    def rewritten_bytes(self) -> int:
        """Bytes of data files that were rewritten."""
        return sum(each.done.rewritten_bytes for each in self.tables if each.done)

    @property
    def has_failed(self) -> bool:
        """Whether anything went wrong; that writers have won is no failure."""
        return bool(self.errors) or any(each.error is not None and not each.is_conflict for each in self.tables)


@dataclass
class Peace:
    """How long tables are left in peace after conflicts: twice as long after each in a row."""

    conflicts: dict[TableName, int] = field(default_factory=dict)
    not_before: dict[TableName, datetime] = field(default_factory=dict)

    def after(self, report: TableReport, settings: TableSettings, now: datetime) -> None:
        """Take note of what came of a rewrite."""
        if not report.is_conflict:
            self.conflicts.pop(report.table, None)
            self.not_before.pop(report.table, None)
            return
        count = self.conflicts[report.table] = self.conflicts.get(report.table, 0) + 1
        self.not_before[report.table] = now + settings.conflicts.wait(count)


class MaintenancePass:
    """Runs passes over the tables of a policy.

    Parameters
    ----------
    policy : Policy
        The policy.
    tables : Tables
        Its tables.
    peace : Peace
        Which tables are left in peace; passes take note of conflicts there.
    clock : callable
        Tells the time, with a time zone.
    say : callable, optional
        Told what is done.
    """

    def __init__(
        self,
        policy: Policy,
        tables: Tables,
        peace: Peace,
        clock: Callable[[], datetime],
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._policy, self._tables, self._peace, self._clock, self._say = policy, tables, peace, clock, say

    def run(self, *, dry_run: bool = False, stop: Callable[[], bool] = lambda: False) -> PassReport:
        """Run a pass.

        Parameters
        ----------
        dry_run : bool, optional
            Whether to decide only.
        stop : callable, optional
            Asked before each table whether to end early.

        Returns
        -------
        PassReport
            What was decided and done.
        """
        began = self._clock()
        names, errors = self._names()
        found = [each for name in names if not stop() and (each := self._observed(name, began)) is not None]
        settings = {report.table: of for report, of in found}
        seen = [(report.observation, of) for report, of in found if report.observation is not None]
        circumstances = Circumstances(began, self._policy.budget, self._peace.not_before)
        observations = {each.table: each for each, _ in seen}
        reports = []
        for decision in decide(seen, circumstances):
            report = TableReport(decision.table, decision, observations[decision.table])
            if decision.action == "rewrite" and not dry_run:
                report = self._acted(report, settings[decision.table], began, stop)
            if not dry_run:
                report = self._cleaned(report, settings[decision.table])
            reports.append(report)
        failed = [report for report, _ in found if report.observation is None]
        return PassReport(began, self._clock(), (*reports, *failed), tuple(errors), dry_run)

    def _names(self) -> tuple[list[TableName], list[str]]:
        names: list[TableName] = []
        errors: list[str] = []
        for catalog in self._policy.catalogs:
            self._say(f"Listing the tables of catalog {catalog}")
            try:
                names += sorted(self._tables.names(catalog))
            except Exception as error:  # the other catalogs go on
                errors.append(
                    self._policy.masked(f"Cannot list the tables of catalog {catalog}, because {_text(error)}")
                )
        return names, errors

    def _observed(self, name: TableName, now: datetime) -> tuple[TableReport, TableSettings] | None:
        """Observe a table that is maintained; one that is not to be looked at is not."""
        try:
            settings = self._tables.settings(name)
            if settings is None:
                return None
            if not settings.enabled or not settings.allowed_hours.allows(now):
                return TableReport(name, observation=Observation(name, None, None)), settings
            self._say(f"Looking at {name}")
            return TableReport(name, observation=self._tables.observe(name, settings, now)), settings
        except Exception as error:  # the other tables go on
            return TableReport(name, error=self._policy.masked(f"{name}: {_text(error)}")), TableSettings()

    def _cleaned(self, report: TableReport, settings: TableSettings) -> TableReport:
        """Clean up where work may be done."""
        is_seen = report.observation is not None and report.observation.snapshot_id is not None
        if not is_seen or report.error is not None:
            return report
        try:
            self._tables.clean_up(report.table, settings)
        except Exception as error:  # the other tables go on
            return replace(report, error=self._policy.masked(f"{report.table}: {_text(error)}"))
        return report

    def _acted(
        self, report: TableReport, settings: TableSettings, began: datetime, stop: Callable[[], bool]
    ) -> TableReport:
        decision = report.decision
        assert decision is not None  # noqa: S101
        minutes = self._policy.budget.minutes
        if stop():
            return replace(report, decision=replace(decision, action="leave", reason="the pass was ended early"))
        if minutes is not None and self._clock() - began >= timedelta(minutes=minutes):
            why = f"the budget of this pass has no time left for it: {minutes:g} minutes"
            return replace(report, decision=replace(decision, action="leave", reason=why))
        self._say(f"Rewriting {decision.table}: {decision.reason}")
        try:
            done = self._tables.rewrite(decision, settings)
            failed = f"{decision.table}: {done.failed_files:,} data files could not be rewritten"
            problems = [failed] if done.failed_files else []
            problems += [f"{decision.table}: {done.failed_follow_up}"] if done.failed_follow_up else []
            report = replace(report, done=done, error=self._policy.masked("; ".join(problems)) or None)
        except HeldByAnotherError as error:
            return replace(report, decision=replace(decision, action="leave", reason=str(error)))
        except RewriteConflictError as error:
            report = replace(report, error=self._policy.masked(_text(error)), is_conflict=True)
        except Exception as error:  # the other tables go on
            report = replace(report, error=self._policy.masked(f"{decision.table}: {_text(error)}"))
        self._peace.after(report, settings, self._clock())
        return report


def _described(report: TableReport) -> dict[str, Any]:
    decision, found = report.decision, report.observation
    return {
        "table": str(report.table),
        "action": "failed" if report.error and not report.is_conflict else decision.action if decision else "leave",
        "reason": decision.reason if decision else None,
        "file_groups": [asdict(each) for each in decision.groups] if decision else [],
        "deferred_file_groups": [asdict(each) for each in decision.deferred] if decision else [],
        "expected_saved_bytes": decision.saved_bytes if decision else 0.0,
        "bytes": found.size if found else None,
        "data_files": found.files if found else None,
        "done": asdict(report.done) if report.done else None,
        "conflict": report.is_conflict,
        "error": report.error,
    }


def _text(error: Exception) -> str:
    known = isinstance(error, InvalidInputError)
    text = str(error).strip() or type(error).__name__
    return text if known else f"{type(error).__name__}: {text}" if type(error).__name__ not in text else text
