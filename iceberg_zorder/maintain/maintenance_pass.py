"""One maintenance pass: observe, decide, act, report.

Passes keep state only in the tables. A failure of one table does not stop the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

from iceberg_zorder.errors import CatalogUnreachedError, InvalidInputError, RewriteConflictError
from iceberg_zorder.maintain.decide import Decision, decide, with_room
from iceberg_zorder.maintain.events import (
    PASS_BEGAN,
    PASS_ENDED,
    REWRITE_BEGAN,
    REWRITE_ENDED,
    TABLE_DECIDED,
    TABLE_FAILED,
    Event,
    Listener,
    Work,
)
from iceberg_zorder.maintain.notes import Conflicts
from iceberg_zorder.maintain.observation import Observation, TableName
from iceberg_zorder.maintain.pass_report import Done, PassReport, TableReport, described
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.settings import TableSettings

_LOG = logging.getLogger("iceberg_zorder")


class LeftForNowError(Exception):
    """A table is left to the next pass or to another maintainer; the message is the reason."""


class PartlyDoneError(Exception):
    """A rewrite failed after part of it was committed; the committed part remains."""

    def __init__(self, done: Done, cause: Exception) -> None:
        super().__init__(str(cause))
        self.done, self.cause = done, cause


class Tables(Protocol):
    """The tables of a policy's catalogs, and the operations on them."""

    def names(self, catalog: str) -> Iterable[TableName]:
        """Yield the tables of a catalog; raises the catalog's error, after all tables that could be listed."""

    def settings(self, name: TableName) -> TableSettings | None:
        """Return a table's settings by the policy and its own properties; None if no rule matches it."""

    def observe(self, name: TableName, settings: TableSettings, now: datetime) -> Observation:
        """Observe what a table needs, from its metadata; raises InvalidInputError if it cannot be planned."""

    def rewrite(
        self, decision: Decision, settings: TableSettings, work: Work, should_continue: Callable[[], bool]
    ) -> Done:
        """Rewrite the file groups of a decision; start no further group once ``should_continue`` returns False.

        Raises the errors of a rewrite, PartlyDoneError or LeftForNowError.
        """

    def remember(self, name: TableName, settings: TableSettings, conflicts: Conflicts | None) -> None:
        """Store conflicts in a table for :meth:`observe`, or remove them with None; may raise any error."""

    def note(self, name: TableName, settings: TableSettings) -> None:
        """Store the last advice on its queries in a table; may raise any error."""


class MaintenancePass:
    """Runs passes over the tables of a policy.

    ``clock`` returns the time with a time zone. ``say`` gets each step as text, ``tell`` each
    :class:`iceberg_zorder.maintain.events.Event`, and ``work`` the progress of rewrites.
    """

    def __init__(
        self,
        policy: Policy,
        tables: Tables,
        clock: Callable[[], datetime],
        say: Callable[[str], None] = lambda _: None,
        tell: Listener = lambda _: None,
        work: Work = lambda *_: None,
    ) -> None:
        self._policy, self._tables, self._clock, self._say = policy, tables, clock, say
        self._listener, self._work = tell, work

    def run(self, *, dry_run: bool = False, stop: Callable[[], bool] = lambda: False) -> PassReport:
        """Run a pass."""
        began = self._clock()
        self._tell(PASS_BEGAN, {"dry_run": dry_run})
        names, errors = self._names()
        if not names and not errors:
            _LOG.warning("No table matches any rule of %s", self._policy.name)
        listed = ((each.catalog, each.namespace, each.name) for each in names)
        unmatched = () if errors else tuple(self._policy.unmatched(listed))
        found = [each for name in names if not stop() and (each := self._observed(name, began)) is not None]
        settings = {report.table: of for report, of in found}
        seen = [(report.observation, of) for report, of in found if report.observation is not None]
        observations = {each.table: each for each, _ in seen}
        reports: list[TableReport] = []
        decisions = decide(seen, began, self._policy.budget)
        limit, most = self._policy.budget.bytes, self._policy.budget.tables
        # Bytes of the budget that no decision has taken.
        spare = None if limit is None else limit - sum(each.size for each in decisions)
        for planned in decisions:
            rewritten = sum(each.done is not None and each.done.rewritten_files > 0 for each in reports)
            if planned.deferred and not planned.groups and not dry_run and (most is None or rewritten < most):
                planned = with_room(planned, spare)
                spare = None if spare is None else spare - planned.size
            decision = planned if spare is None else replace(planned, room=planned.size + max(0, spare))
            report = TableReport(decision.table, decision, observations[decision.table])
            self._tell(TABLE_DECIDED, described(report))
            if decision.action == "rewrite" and not dry_run:
                report = self._acted(report, settings[decision.table], began, stop)
            if spare is not None:
                spare += decision.size - (report.done.rewritten_bytes if report.done else 0)
            if not dry_run:
                note = partial(self._tables.note, decision.table, settings[decision.table])
                self._noted(decision.table, "what its queries need", note)
            reports.append(report)
        failed = [report for report, _ in found if report.observation is None]
        for report in failed:
            self._tell(TABLE_FAILED, described(report))
        done = PassReport(began, self._clock(), (*reports, *failed), tuple(errors), dry_run, unmatched)
        self._tell(PASS_ENDED, done.summary())
        return done

    def _remember(self, report: TableReport, settings: TableSettings) -> None:
        """Store a table's back-off after a conflict; it doubles with each conflict in a row."""
        before = report.observation.conflicts if report.observation else None
        conflicts = None
        if report.is_conflict:
            count = 1 + (before.count if before else 0)
            conflicts = Conflicts(count, self._clock() + settings.conflicts.wait(count))
        if conflicts != before:
            self._noted(report.table, "its conflicts", lambda: self._tables.remember(report.table, settings, conflicts))

    def _noted(self, table: TableName, what: str, note: Callable[[], None]) -> None:
        try:
            note()
        except Exception as error:  # the next pass finds it out again
            self._say(self._policy.masked(f"Cannot store {what} in {table}, because {_text(error)}"))

    def _tell(self, name: str, details: Mapping[str, Any]) -> None:
        self._listener(Event(name, self._clock(), details))

    def _names(self) -> tuple[list[TableName], list[str]]:
        names: list[TableName] = []
        errors: list[str] = []
        for catalog in self._policy.catalogs:
            self._say(f"Listing the tables of catalog {catalog}")
            found: list[TableName] = []
            try:
                found.extend(self._tables.names(catalog))
            except Exception as error:  # other catalogs, and the tables listed so far, are still maintained
                text = _text(error)
                if not isinstance(error, CatalogUnreachedError):
                    text = f"Cannot list the tables of catalog {catalog}, because {text}"
                errors.append(self._policy.masked(text))
            names += sorted(found)
        return names, errors

    def _observed(self, name: TableName, now: datetime) -> tuple[TableReport, TableSettings] | None:
        """Observe a table, unless it is disabled or cannot be read."""
        try:
            settings = self._tables.settings(name)
            if settings is None:
                return None
            if not settings.enabled or not settings.allows(now):
                return TableReport(name, observation=Observation(name, None, None)), settings
            self._say(f"Observing {name}")
            return TableReport(name, observation=self._tables.observe(name, settings, now)), settings
        except Exception as error:  # the other tables go on
            return TableReport(name, error=self._policy.masked(f"{name}: {_text(error)}")), TableSettings()

    def _acted(
        self, report: TableReport, settings: TableSettings, began: datetime, stop: Callable[[], bool]
    ) -> TableReport:
        decision = report.decision
        assert decision is not None  # noqa: S101
        if why := self._too_late(settings, began, stop):
            return replace(report, decision=replace(decision, action="leave", reason=why))
        begun = 0

        def should_continue() -> bool:
            # Rewrite at least one file group of a sampled table: else passes could spend all their time on sampling.
            nonlocal begun
            begun += 1
            return not stop() and (begun == 1 or not self._is_over(began))

        self._say(f"Rewriting {decision.table}: {decision.reason}")
        self._tell(REWRITE_BEGAN, {"table": str(decision.table), "reason": decision.reason, "bytes": decision.size})
        report = self._rewritten(report, decision, settings, should_continue)
        if report.decision is not None and report.decision.action == "rewrite":
            self._remember(report, settings)
        self._tell(REWRITE_ENDED, described(report))
        return report

    def _too_late(self, settings: TableSettings, began: datetime, stop: Callable[[], bool]) -> str | None:
        """Return why a table is left although its turn has come; None if it is not."""
        if stop():
            return "the pass was stopped"
        if self._is_over(began):
            return f"over the budget of this pass: {self._policy.budget.minutes:g} minutes"
        if not settings.allows(self._clock()):
            return "outside allowed-hours when its turn came"
        return None

    def _is_over(self, began: datetime) -> bool:
        minutes = self._policy.budget.minutes
        return minutes is not None and self._clock() - began >= timedelta(minutes=minutes)

    def _rewritten(
        self, report: TableReport, decision: Decision, settings: TableSettings, should_continue: Callable[[], bool]
    ) -> TableReport:
        masked = self._policy.masked
        try:
            done = self._tables.rewrite(decision, settings, self._work, should_continue)
        except LeftForNowError as error:
            return replace(report, decision=replace(decision, action="leave", reason=masked(str(error))))
        except PartlyDoneError as error:
            return self._failed(replace(report, done=error.done.shown(masked)), error.cause)
        except Exception as error:  # the other tables go on
            return self._failed(report, error)
        problems = [f"{decision.table}: {each}" for each in (done.why_failed, done.failed_follow_up) if each]
        return replace(report, done=done.shown(masked), error=masked("; ".join(problems)) or None)

    def _failed(self, report: TableReport, error: Exception) -> TableReport:
        is_conflict = isinstance(error, RewriteConflictError)
        text = _text(error) if is_conflict else f"{report.table}: {_text(error)}"
        return replace(report, error=self._policy.masked(text), is_conflict=is_conflict)


def _text(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    known = isinstance(error, InvalidInputError | CatalogUnreachedError)
    return text if known else f"{type(error).__name__}: {text}" if type(error).__name__ not in text else text
