"""The tables that a policy is for, in PyIceberg's catalogs: listed, observed and rewritten without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.decide import Decision, within
from iceberg_zorder.maintain.maintenance_pass import Done
from iceberg_zorder.maintain.observation import Observation, TableName
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.settings import TableSettings
from iceberg_zorder.pyiceberg.catalog.configuration import catalog_properties
from iceberg_zorder.pyiceberg.catalog.retry import load_first
from iceberg_zorder.pyiceberg.compat.catalogs import load_catalog
from iceberg_zorder.pyiceberg.observe import observe
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.rewrite import execute

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


class PyIcebergTables:
    """See :class:`iceberg_zorder.maintain.maintenance_pass.Tables`.

    Parameters
    ----------
    policy : Policy
        The policy.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
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
        if settings.engine == "spark":
            raise InvalidInputError(
                "Cannot use engine spark, because maintain rewrites with PyIceberg: use engine auto"
            )
        if settings.follow_ups.in_order:
            raise InvalidInputError("Cannot carry out follow-ups, because maintain only rewrites data files")
        identifier = (*name.namespace, name.name)
        table = load_first(lambda: self._catalog(name.catalog).load_table(identifier))
        self._loaded[name] = table
        options = {**_DEFAULTS, **settings.options}
        return replace(settings, options=options).with_properties(table.properties)

    def observe(self, name: TableName, settings: TableSettings, now: datetime) -> Observation:
        """Find out what a table needs."""
        found, self._plans[name] = observe(self._loaded[name], name, settings, now)
        return found

    def rewrite(self, decision: Decision, settings: TableSettings) -> Done:
        """Rewrite the file groups of a decision; what has changed since is planned again, within as many bytes."""
        name = decision.table
        plan, wanted = self._plans[name], decision.groups
        try:
            plan.check_is_current()
        except InvalidInputError:
            found, plan = observe(self._loaded[name], name, settings, _moment(plan))
            wanted = within(found.groups, decision.size)
        told = {REASON: decision.reason, **(MARKERS if settings.conflicts.markers else {})}
        request = replace(plan.request, summary={**plan.request.summary, **told})
        result = execute(replace(plan.with_groups({group.index for group in wanted}), request=request))
        return Done(
            result.rewritten_data_files_count,
            result.added_data_files_count,
            result.rewritten_bytes_count,
            result.failed_data_files_count,
            result.message,
        )

    def _catalog(self, name: str) -> Catalog:
        if name not in self._catalogs:
            given = {key: str(value) for key, value in self._policy.catalogs[name].properties.items()}
            properties = given or {key: str(value) for key, value in catalog_properties(name).properties.items()}
            self._catalogs[name] = load_catalog(name, **properties)
        return self._catalogs[name]


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
