"""The tables that a policy is for, in PyIceberg's catalogs: listed, observed and rewritten without a JVM."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.maintain.decide import Decision, within
from iceberg_zorder.maintain.engine import SparkWork, choose_engine
from iceberg_zorder.maintain.maintenance_pass import Done, HeldByAnotherError
from iceberg_zorder.maintain.observation import Observation, TableName
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.settings import TableSettings
from iceberg_zorder.pyiceberg.catalog.configuration import catalog_properties
from iceberg_zorder.pyiceberg.catalog.retry import load_first
from iceberg_zorder.pyiceberg.commit.table_properties import change_properties
from iceberg_zorder.pyiceberg.compat.catalogs import load_catalog
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.file_names import WRITE_ID
from iceberg_zorder.pyiceberg.maintain.abandoned_files import delete_abandoned_files
from iceberg_zorder.pyiceberg.maintain.lease import (
    ABANDONED,
    Lease,
    Leases,
    Maintainer,
    abandoned_text,
    abandoned_writes,
)
from iceberg_zorder.pyiceberg.maintain.observe import formats, observe
from iceberg_zorder.pyiceberg.plan.planner import NEWEST_FORMAT
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.rewrite import execute

_LOG = logging.getLogger("iceberg_zorder")

MARKERS = {
    "polaris.internal.conflict-resolution.by-operation-type.replace": "rollback",
    "lakekeeper.rollbackable": "true",
}
"""By these catalogs that are set up for it roll a rewrite back where a writer conflicts with it."""
REASON = "zorder.reason"
"""In a snapshot's summary: why a pass of maintenance has rewritten."""

# Small commits, one a file group as far as that makes no more than these, are seldom in a writer's way.
_DEFAULTS = {
    "partial-progress.enabled": "true",
    "partial-progress.max-commits": "100",
    "min-age-seconds": "600",
}


def _now() -> datetime:
    return datetime.now(timezone.utc)


class PyIcebergTables:
    """See :class:`iceberg_zorder.maintain.maintenance_pass.Tables`.

    Parameters
    ----------
    policy : Policy
        The policy.
    clock : callable, optional
        Tells the time, with a time zone.
    maintainer : Maintainer, optional
        For whom tables are rewritten, default this process.
    spark : SparkWork, optional
        Does what PyIceberg cannot.
    """

    def __init__(
        self,
        policy: Policy,
        clock: Callable[[], datetime] = _now,
        maintainer: Maintainer | None = None,
        spark: SparkWork | None = None,
    ) -> None:
        self._policy, self._clock, self._spark = policy, clock, spark
        self._leases = Leases(maintainer or Maintainer.here(), clock)
        self._observed: dict[TableName, Observation] = {}
        self._catalogs: dict[str, Catalog] = {}
        self._loaded: dict[TableName, Table] = {}
        self._plans: dict[TableName, RewritePlan] = {}

    def names(self, catalog: str) -> Iterator[TableName]:
        """List the tables of a catalog that rules are for."""
        self._loaded.clear()
        self._plans.clear()
        source = self._catalog(catalog)
        for namespace in _namespaces(source):
            for found in source.list_tables(namespace):
                name = TableName(catalog, tuple(found[:-1]), found[-1])
                if self._policy.settings(catalog, name.namespace, name.name) is not None:
                    yield name

    def settings(self, name: TableName) -> TableSettings | None:
        """Find what the policy says of a table, and its properties."""
        settings = self._policy.settings(name.catalog, name.namespace, name.name)
        if settings is None:
            return None
        if settings.follow_ups.in_order and self._spark is None:
            raise InvalidInputError(
                "Cannot carry out follow-ups, because they are procedures of Spark, which is not installed: "
                "pip install 'iceberg-zorder[spark]'"
            )
        identifier = (*name.namespace, name.name)
        table = load_first(lambda: self._catalog(name.catalog).load_table(identifier))
        self._loaded[name] = table
        options = {**_DEFAULTS, **settings.options}
        return replace(settings, options=options).with_properties(table.properties)

    def observe(self, name: TableName, settings: TableSettings, now: datetime) -> Observation:
        """Find out what a table needs."""
        self._observed[name], self._plans[name] = observe(self._loaded[name], name, settings, now)
        return self._observed[name]

    def rewrite(self, decision: Decision, settings: TableSettings) -> Done:
        """Rewrite the file groups of a decision while no other maintainer does."""
        table = self._loaded[decision.table]
        wanted = {group.index for group in decision.groups}
        planned = [group for group in self._plans[decision.table].groups if group.index in wanted]
        self._engine(decision.table, planned, settings)
        # PyIceberg cannot change properties of what it cannot write.
        if not settings.conflicts.lease or table.format_version > NEWEST_FORMAT:
            return self._followed_up(self._rewrite(decision, settings, {}), decision.table, settings)
        lease, is_clean = self._leases.take(table, decision.size), True
        try:
            done = self._rewrite(decision, settings, {WRITE_ID: lease.write_id})
            return self._followed_up(done, decision.table, settings)
        except UnknownOutcomeError:
            is_clean = False
            raise
        finally:
            self._give_back(table, lease, is_clean=is_clean)

    def _give_back(self, table: Table, lease: Lease, *, is_clean: bool) -> None:
        try:
            self._leases.give_back(table, lease, is_clean=is_clean)
        except Exception:
            # It ends by itself, and what was done is done.
            _LOG.warning("Cannot give the lease of %s back", display_name(table), exc_info=True)

    def clean_up(self, name: TableName, settings: TableSettings) -> None:
        """Delete what writes that came to no end have left, once nobody can commit it any more."""
        table = self._loaded[name]
        writes = abandoned_writes(table.properties)
        latest = self._clock() - settings.conflicts.abandoned_files_older_than
        old = {write_id for write_id, since in writes.items() if since <= latest}
        if not old:
            return
        gone = delete_abandoned_files(table, old)
        _LOG.info("Deleted %s files of %s that no snapshot has", len(gone), display_name(table))
        rest = abandoned_text({write_id: since for write_id, since in writes.items() if write_id not in old})
        change_properties(table, {ABANDONED: rest} if rest else {}, [] if rest else [ABANDONED])

    def _rewrite(self, decision: Decision, settings: TableSettings, told: Mapping[str, str]) -> Done:
        """Rewrite; what has changed since is planned again, within as many bytes."""
        name = decision.table
        plan, wanted = self._plans[name], decision.groups
        try:
            plan.check_is_current()
        except InvalidInputError:
            found, plan = observe(self._loaded[name], name, settings, _moment(plan))
            if found.last_rewrite_ms != self._observed[name].last_rewrite_ms:
                raise HeldByAnotherError("another maintainer has rewritten it since it was looked at") from None
            wanted = within(found.groups, decision.size)
        chosen = {group.index for group in wanted}
        groups = [group for group in plan.groups if group.index in chosen]
        engine = self._engine(name, groups, settings)
        told = {**told, REASON: decision.reason, **(MARKERS if settings.conflicts.markers else {})}
        if engine == "spark" and self._spark is not None:
            files = None if len(groups) == len(plan.groups) else sum(len(group.tasks) for group in groups)
            return self._spark.rewrite(name, settings, _moment(plan), files, told)
        request = replace(plan.request, summary={**plan.request.summary, **told})
        result = execute(replace(plan.with_groups(chosen), request=request))
        return Done(
            result.rewritten_data_files_count,
            result.added_data_files_count,
            result.rewritten_bytes_count,
            result.failed_data_files_count,
            result.message,
        )

    def _engine(self, name: TableName, groups: Sequence[FileGroup], settings: TableSettings) -> str:
        """Choose the engine for some file groups; raises InvalidInputError where there is none."""
        version = self._loaded[name].format_version
        beyond = formats(groups) - {"PARQUET"} | ({f"format version {version}"} if version > NEWEST_FORMAT else set())
        size = sum(group.input_size for group in groups)
        return choose_engine(settings.engine, size, beyond, has_spark=self._spark is not None)

    def _followed_up(self, done: Done, name: TableName, settings: TableSettings) -> Done:
        """Carry the follow-ups out where anything was rewritten, up to the first that fails."""
        if self._spark is None or not done.rewritten_files:
            return done
        for each in settings.follow_ups.in_order:
            try:
                said = self._spark.follow_up(name, each, self._clock())
            except RewriteFailedError as error:
                return replace(done, failed_follow_up=str(error))
            done = replace(done, follow_ups=(*done.follow_ups, said))
        return done

    def _catalog(self, name: str) -> Catalog:
        if name not in self._catalogs:
            self._catalogs[name] = load_catalog(name, **properties_of(self._policy, name))
        return self._catalogs[name]


def properties_of(policy: Policy, catalog: str) -> dict[str, str]:
    """Find the properties of a catalog: in the policy, else where PyIceberg finds them."""
    given = policy.catalogs[catalog].properties or catalog_properties(catalog).properties
    return {key: str(value) for key, value in given.items()}


def _moment(plan: RewritePlan) -> datetime:
    return datetime.fromtimestamp(plan.request.at_ms / 1000, timezone.utc)


def _namespaces(catalog: Catalog, inside: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """List all namespaces of a catalog, those inside others, too."""
    for found in catalog.list_namespaces(inside):
        namespace = tuple(found)
        # SQL catalogs list a namespace as one inside itself.
        if len(namespace) > len(inside):
            yield namespace
            yield from _namespaces(catalog, namespace)
