"""A policy's tables in PyIceberg's catalogs: listed, observed and rewritten without a JVM."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Protocol

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.errors import (
    InvalidInputError,
    RewriteConflictError,
    RewriteFailedError,
    StalePlanError,
    TakenOverError,
)
from iceberg_zorder.maintain.decide import Decision, within
from iceberg_zorder.maintain.maintenance_pass import LeftForNowError, PartlyDoneError
from iceberg_zorder.maintain.notes import Conflicts, Notes
from iceberg_zorder.maintain.observation import Observation, TableName
from iceberg_zorder.maintain.pass_report import Done
from iceberg_zorder.maintain.policy.catalogs import secrets_of
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.settings import FollowUp, RemoveOrphanFiles, TableSettings
from iceberg_zorder.pyiceberg.catalog import catalog_properties, load_first, reaching
from iceberg_zorder.pyiceberg.commit.replacement import CommitManager
from iceberg_zorder.pyiceberg.commit.snapshot import markers_of
from iceberg_zorder.pyiceberg.compat import configured, dropped_metadata, load_catalog
from iceberg_zorder.pyiceberg.files import FileGroup, Progress, display_name, silent
from iceberg_zorder.pyiceberg.listing.listing import snapshots_to
from iceberg_zorder.pyiceberg.maintain.catalog_tables import FileLocations, list_tables
from iceberg_zorder.pyiceberg.maintain.lease import Leases, Maintainer, change_notes
from iceberg_zorder.pyiceberg.maintain.observe import formats, observe
from iceberg_zorder.pyiceberg.plan.planner import current
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.plan.sort_order import last_sort_order
from iceberg_zorder.pyiceberg.reporting.new_layout import NewLayouts
from iceberg_zorder.pyiceberg.rewrite import execute_with
from iceberg_zorder.pyiceberg.run import RewriteRun
from iceberg_zorder.pyiceberg.write.file_writer import format_of_new_files, types_beyond
from iceberg_zorder.rewrite.options import MEMORY_LIMIT
from iceberg_zorder.rewrite.snapshot_keys import REASON, REWRITE_ID
from iceberg_zorder.rewrite.table_defaults import COLUMNS_PROPERTY, OPTIONS_PROPERTY, remembered_options

_LOG = logging.getLogger("iceberg_zorder")

# Small commits, one per file group up to this number, rarely conflict with writers.
_DEFAULTS = {
    "partial-progress.enabled": "true",
    "partial-progress.max-commits": "100",
    "min-age-seconds": "600",
}

_NO_COLUMNS = (
    f"no columns are named: set them in the policy (by) or in the table property {COLUMNS_PROPERTY}; iceberg-zorder "
    "advise recommends some"
)

LARGEST_WITHOUT_SPARK = 50 * 10**9
"""Bytes from which ``auto`` chooses Spark, if installed."""
_INSTALL = "install it with pip install '.[spark]' in a clone"


class SparkWork(Protocol):
    """Spark's part of maintenance; see :class:`iceberg_zorder.spark.maintenance.SparkMaintenance`."""

    def rewrite(self, name: TableName, plan: str, summary: Mapping[str, str]) -> Done:
        """Execute a plan in JSON; raises the errors of a rewrite."""

    def follow_up(self, name: TableName, what: FollowUp, now: datetime) -> str:
        """Run a follow-up, and return its result as text; raises RewriteFailedError."""


def _now() -> datetime:
    return datetime.now(timezone.utc)


class PyIcebergTables:
    """Implements :class:`iceberg_zorder.maintain.maintenance_pass.Tables`.

    ``clock`` returns the time with a time zone, ``maintainer`` holds the leases, and ``spark`` does what PyIceberg
    cannot.
    """

    def __init__(
        self,
        policy: Policy,
        clock: Callable[[], datetime] = _now,
        maintainer: Maintainer | None = None,
        spark: SparkWork | None = None,
    ) -> None:
        known = {
            name: replace(catalog, secrets=catalog.secrets | _configured_secrets(name))
            for name, catalog in policy.catalogs.items()
        }
        self.policy = replace(policy, catalogs=known)
        """The policy, which also masks the secrets of PyIceberg's own configuration."""
        self._clock, self._spark = clock, spark
        self._new_layouts = NewLayouts(Path(policy.name).parent, clock, policy.budget.bytes)
        self._worth: dict[TableName, float | None] = {}
        self._names_columns: dict[TableName, bool] = {}
        self._leases = Leases(maintainer or Maintainer.here(), clock)
        self._observed: dict[TableName, Observation] = {}
        self._conflicts: dict[TableName, Conflicts] = {}
        self._catalogs: dict[str, Catalog] = {}
        self._loaded: dict[TableName, Table] = {}
        self._plans: dict[TableName, RewritePlan] = {}
        self._locations: dict[str, FileLocations] = {}

    def close(self) -> None:
        """Close the connections to catalogs."""
        for catalog in self._catalogs.values():
            catalog.close()
        self._catalogs.clear()

    def names(self, catalog: str) -> Iterator[TableName]:
        """Yield the tables of a catalog that rules match."""
        self._loaded.clear()
        self._plans.clear()
        self._new_layouts.forget()
        self._locations.clear()
        with self._reaching(catalog):
            for found in list_tables(self._catalog(catalog), partial(self.policy.may_be_for, catalog)):
                name = TableName(catalog, tuple(found[:-1]), found[-1])
                if self.policy.settings(catalog, name.namespace, name.name) is not None:
                    yield name

    def settings(self, name: TableName) -> TableSettings | None:
        """Return a table's settings by the policy and the table's properties."""
        settings = self.policy.settings(name.catalog, name.namespace, name.name)
        if settings is None:
            return None
        if settings.follow_ups.in_order and self._spark is None:
            raise InvalidInputError(
                "Cannot run follow-ups, because they are Spark procedures and PySpark is not installed: "
                "pip install '.[spark]' in a clone"
            )
        identifier = (*name.namespace, name.name)
        with self._reaching(name.catalog):
            table = load_first(lambda: self._catalog(name.catalog).load_table(identifier))
        self._loaded[name] = table
        settings = settings.with_properties(table.properties)
        if not settings.enabled:
            return settings
        options = {**_defaults(table, settings.options), **settings.options}
        self._names_columns[name] = settings.by is not None or COLUMNS_PROPERTY in table.properties
        return _with_remembered_columns(table, replace(settings, options=options))

    def observe(self, name: TableName, settings: TableSettings, now: datetime) -> Observation:
        """Observe a table; if its queries are known, a sample of it is read once a day."""
        table = self._loaded[name]
        self._worth[name] = self._new_layouts.read(name, table, settings)
        found, plan = Observation(name, None, None), None
        if settings.by is not None or self._names_columns[name]:
            found, plan = self._looked_at(name, settings, now)
            self._plans[name] = plan
        relayout = settings.workload
        if relayout is not None and self._names_columns[name]:
            # Named columns are never replaced by advice.
            relayout = replace(relayout, relayout="advise")
        need = self._new_layouts.find(name, table, replace(settings, workload=relayout), plan, now)
        found = replace(found, workload=need)
        conflicts = Notes.of(table.properties).conflicts or self._conflicts.get(name)
        self._observed[name] = replace(found, conflicts=conflicts)
        return self._observed[name]

    def _looked_at(self, name: TableName, settings: TableSettings, now: datetime) -> tuple[Observation, RewritePlan]:
        return observe(self._loaded[name], name, self._new_layouts.with_queries(name, settings), now, self._worth[name])

    def rewrite(
        self,
        decision: Decision,
        settings: TableSettings,
        progress: Progress = silent,
        should_continue: Callable[[], bool] = lambda: True,
    ) -> Done:
        """Rewrite the file groups of a decision under the table's lease."""
        table = self._loaded[decision.table]
        wanted = {group.index for group in decision.groups}
        planned = [group for group in self._plan(decision).groups if group.index in wanted]
        self._engine(decision.table, planned, settings)
        if not _may_note(table, settings):
            return self._followed_up(
                self._rewrite(decision, settings, {}, progress, should_continue), decision, settings
            )
        lease = self._leases.take(table)
        try:
            with self._leases.kept(table, lease):
                done = self._rewrite(decision, settings, {REWRITE_ID: lease.write_id}, progress, should_continue)
            return self._followed_up(done, decision, settings)
        finally:
            try:
                self._leases.give_back(table, lease)
            except Exception:
                # The lease expires by itself, and the rewrite is committed.
                _LOG.warning("Cannot release the lease of %s", display_name(table), exc_info=True)

    def remember(self, name: TableName, settings: TableSettings, conflicts: Conflicts | None) -> None:
        """Store conflicts in a table, or in this object if its properties must not be changed."""
        table = self._loaded[name]
        if _may_note(table, settings):
            change_notes(table, lambda notes: replace(notes, conflicts=conflicts))
        elif conflicts is not None:
            self._conflicts[name] = conflicts
        else:
            self._conflicts.pop(name, None)

    def note(self, name: TableName, settings: TableSettings) -> None:
        """Store the time of the advice in a table, so that no pass repeats it within a day."""
        table, now = self._loaded[name], self._clock()
        if self._new_layouts.asked(name, now) and _may_note(table, settings):
            change_notes(table, lambda notes: replace(notes, advised_ms=int(now.timestamp() * 1000)))

    def _rewrite(
        self,
        decision: Decision,
        settings: TableSettings,
        summary: Mapping[str, str],
        progress: Progress,
        should_continue: Callable[[], bool],
    ) -> Done:
        """Rewrite the decision's plan; if it is stale, plan again within the same number of bytes."""
        name = decision.table
        plan, wanted = self._plan(decision), decision.groups
        try:
            current(self._loaded[name], plan)
        except StalePlanError:
            if decision.is_new_layout:
                raise LeftForNowError("it has changed since its new layout was planned") from None
            found, plan = self._looked_at(name, settings, _moment(plan))
            if found.last_rewrite_ms != self._observed[name].last_rewrite_ms:
                raise LeftForNowError("another maintainer has rewritten it since it was observed") from None
            wanted = found.groups if decision.room is None else within(found.groups, decision.room)
            if found.groups and not wanted:
                raise LeftForNowError(
                    "it has changed since it was observed, and now needs more than the rest of the budget"
                ) from None
        chosen = {group.index for group in wanted}
        groups = [group for group in plan.groups if group.index in chosen]
        engine = self._engine(name, groups, settings)
        markers = markers_of(self._loaded[name].format_version) if settings.conflicts.markers else {}
        summary, plan = {**summary, REASON: decision.reason, **markers}, plan.with_groups(chosen)
        if engine == "spark" and self._spark is not None:
            return self._spark.rewrite(name, plan.to_json(), summary)
        return _carried_out(RewriteRun(self._loaded[name], plan.spec, progress, should_continue, summary), plan)

    def _plan(self, decision: Decision) -> RewritePlan:
        new = self._new_layouts.of(decision.table) if decision.is_new_layout else None
        return self._plans[decision.table] if new is None or new.plan is None else new.plan

    def _engine(self, name: TableName, groups: Sequence[FileGroup], settings: TableSettings) -> str:
        """Choose the engine for file groups; raises InvalidInputError if none fits."""
        table = self._loaded[name]
        files = formats(groups) | {format_of_new_files(table).upper()}
        beyond = files - {"PARQUET", "PUFFIN"} | set(types_beyond(table))
        if dropped := dropped_metadata(table):
            beyond.add(f"{dropped} in metadata")
        size = sum(group.input_size for group in groups)
        return choose_engine(settings.engine, size, beyond, has_spark=self._spark is not None)

    def _followed_up(self, done: Done, decision: Decision, settings: TableSettings) -> Done:
        """Run the follow-ups after a rewrite, up to the first failure."""
        name = decision.table
        if decision.is_new_layout:
            self._new_layouts.made(name)
        if self._spark is None or not done.rewritten_files:
            return done
        for each in settings.follow_ups.in_order:
            try:
                if isinstance(each, RemoveOrphanFiles):
                    new = FileLocations(self._catalog(name.catalog))
                    self._locations.setdefault(name.catalog, new).check_alone(self._loaded[name])
                follow_up = self._spark.follow_up(name, each, self._clock())
            except (InvalidInputError, RewriteFailedError) as error:
                return replace(done, failed_follow_up=str(error))
            done = replace(done, follow_ups=(*done.follow_ups, follow_up))
        return done

    def _reaching(self, name: str) -> AbstractContextManager[None]:
        return reaching(name, properties_of(self.policy, name).get("uri"))

    def _catalog(self, name: str) -> Catalog:
        if name not in self._catalogs:
            self._catalogs[name] = load_catalog(name, **properties_of(self.policy, name))
        return self._catalogs[name]


def _with_remembered_columns(table: Table, settings: TableSettings) -> TableSettings:
    """Return the settings with the columns of the table's newest rewrite, unless others are named."""
    if settings.by is not None or COLUMNS_PROPERTY in table.properties or not settings.enabled:
        return settings
    head = table.snapshot_by_name(settings.branch or MAIN_BRANCH)
    layout = next((each for each in reversed(snapshots_to(table, head)) if each.is_rewrite), None)
    if layout is None and settings.workload is not None and settings.workload.relayout == "auto":
        # The advice for its queries chooses the columns.
        return settings
    if layout is None:
        return replace(settings, enabled=False, disabled_because=_NO_COLUMNS)
    return replace(settings, by=last_sort_order(table, layout, "maintain"))


def _carried_out(run: RewriteRun, plan: RewritePlan) -> Done:
    commits, message = run.commits, None
    try:
        message = execute_with(run, plan).message
        if commits.conflicting or (commits.had_conflicts and not commits.rewritten_files):
            raise RewriteConflictError(str(commits.conflicts[-1]) if commits.conflicts else message)
    except StalePlanError as error:
        # A writer committed at this moment and wins.
        raise RewriteConflictError(str(error)) from error
    except TakenOverError as error:
        # The other maintainer continues.
        if not commits.count:
            raise LeftForNowError(str(error)) from error
        message = str(error)
    except RewriteFailedError as error:
        if commits.count:
            raise PartlyDoneError(_done(commits, message), error) from error
        raise
    return _done(commits, message)


def _done(commits: CommitManager, message: str | None) -> Done:
    failed = commits.failed_files - sum(group.data_files_count for group in commits.conflicting)
    causes = [*commits.failed_commits, *([commits.failure] if commits.failure else [])]
    why = f"{failed:,} data files could not be rewritten; last cause: {causes[-1]}" if failed else None
    counts = (commits.rewritten_files, commits.added_files, commits.rewritten_bytes, commits.failed_files)
    return Done(*counts, message, why)


def _may_note(table: Table, settings: TableSettings) -> bool:
    """Return whether a table's properties may be changed, which PyIceberg does."""
    return settings.conflicts.lease and dropped_metadata(table) is None


def choose_engine(asked: str, size: int, beyond: Collection[str], *, has_spark: bool) -> str:
    """Choose the engine for a rewrite.

    Examples
    --------
    >>> choose_engine("auto", 10**9, (), has_spark=True)
    'pyiceberg'
    >>> choose_engine("auto", 10**9, {"ORC"}, has_spark=True)
    'spark'
    >>> choose_engine("auto", 10**12, (), has_spark=False)
    'pyiceberg'
    """
    if asked == "spark" and not has_spark:
        raise InvalidInputError(f"Cannot use engine spark, because PySpark is not installed: {_INSTALL}")
    if beyond and (asked == "pyiceberg" or not has_spark):
        instead = f"use Spark, {_INSTALL}" if asked == "auto" else "set engine to auto or spark"
        raise InvalidInputError(f"Cannot rewrite with PyIceberg, because it does not support {min(beyond)}: {instead}")
    if asked != "auto":
        return asked
    return "spark" if beyond or (has_spark and size > LARGEST_WITHOUT_SPARK) else "pyiceberg"


def properties_of(policy: Policy, catalog: str) -> dict[str, str]:
    """Return a catalog's properties from the policy, else from PyIceberg's configuration."""
    given = policy.catalogs[catalog].properties or catalog_properties(catalog).properties
    return {key: str(value) for key, value in given.items()}


def _defaults(table: Table, options: Mapping[str, object]) -> dict[str, str]:
    """Return the default options of a table's property; a limit of the maintainer's memory is refused."""
    own = remembered_options(display_name(table), table.properties)
    if MEMORY_LIMIT in own and MEMORY_LIMIT not in options:
        raise InvalidInputError(
            f"Cannot maintain {display_name(table)} with option {MEMORY_LIMIT} of its property {OPTIONS_PROPERTY}, "
            "because that option belongs to the maintainer's machine: set it in the policy, not in the property"
        )
    return {name: value for name, value in _DEFAULTS.items() if name not in own}


def _configured_secrets(catalog: str) -> frozenset[str]:
    try:
        return secrets_of(configured(catalog).properties or {})
    except InvalidInputError:
        # Listing the catalog reports the error.
        return frozenset()


def _moment(plan: RewritePlan) -> datetime:
    return datetime.fromtimestamp(plan.spec.at_ms / 1000, timezone.utc)
