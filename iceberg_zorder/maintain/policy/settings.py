"""The settings of one table in a policy: frozen values, which pydantic reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import ConfigDict, Field, ValidationInfo, field_validator
from pydantic.dataclasses import dataclass

from iceberg_zorder.maintain.policy import written
from iceberg_zorder.maintain.policy.relative_dates import folded

DISABLED_PROPERTY = "maintenance.disabled"
"""The table property by which owners opt out; OpenHouse's."""

AS_WRITTEN = ConfigDict(
    extra="forbid",
    alias_generator=lambda name: name.replace("_", "-"),
    populate_by_name=True,
    use_attribute_docstrings=True,
)
"""Keys are written in kebab case, and unknown ones refused."""


@dataclass(frozen=True, config=AS_WRITTEN)
class Triggers:
    """When a table is due: where any of them is met. None is not set; if all are, it is due where a rewrite pays."""

    scan_ratio: written.Ratio = None
    """Filters read so many times what they would read after a rewrite of everything."""
    depth: written.Ratio = None
    """A point of the clustering columns lies in so many files, on average."""
    commit_count: written.Count = None
    """So many snapshots since the last rewrite."""
    data_file_count: written.Count = None
    """So many data files added since the last rewrite."""
    data_file_size: written.Size = None
    """Data files of so many bytes added since the last rewrite."""
    pos_delete_file_count: written.Count = None
    """So many position delete files added since the last rewrite, deletion vectors among them."""
    pos_delete_record_count: written.Count = None
    """So many position deletes."""
    eq_delete_file_count: written.Count = None
    """So many equality delete files."""
    eq_delete_record_count: written.Count = None
    """So many equality deletes."""
    small_file_count: written.Count = None
    """So many data files below the size that is in order."""
    bytes_appended: written.Size = None
    """So many bytes appended since the last rewrite."""
    interval: written.Interval = None
    """So long since the last rewrite."""
    cron: written.Cron = None
    """A time of this cron expression has come since the last rewrite, in time-zone."""


@dataclass(frozen=True, config=AS_WRITTEN)
class RewritePositionDeleteFiles:
    """Compact position delete files, and drop deletes of files that are gone."""


@dataclass(frozen=True, config=AS_WRITTEN)
class RewriteManifests:
    """Sort manifests by partition, and merge small ones."""


@dataclass(frozen=True, config=AS_WRITTEN)
class ExpireSnapshots:
    """Drop old snapshots, and the files that only they need."""

    older_than: written.Interval = None
    """Age of the snapshots dropped; without it the table's history.expire.max-snapshot-age-ms, else 5 days."""
    retain_last: written.Count = None
    """So many are kept whatever their age; without it the table's history.expire.min-snapshots-to-keep, else 1."""


@dataclass(frozen=True, config=AS_WRITTEN)
class RemoveOrphanFiles:
    """Delete files that no snapshot knows."""

    older_than: written.OrphanAge = timedelta(days=3)
    """Age of the files deleted, at least 1 day: younger ones may be of commits under way."""


FollowUp = RewritePositionDeleteFiles | RewriteManifests | ExpireSnapshots | RemoveOrphanFiles


@dataclass(frozen=True, config=AS_WRITTEN)
class FollowUps:
    """What is done after rewrites of a table; ``{}`` where it has no settings, and false or None where it is not done.

    Each leaves behind what a later one takes away. Deletes that a rewrite has applied are dropped before manifests are
    written, so that these do not list them; both are done before snapshots expire, so that what they have replaced is
    kept by old snapshots only, and goes when these do. Orphans are looked for last, when everything that has a
    snapshot is settled.
    """

    rewrite_position_delete_files: Annotated[RewritePositionDeleteFiles | None, written.UNSET] = None
    """Compact position delete files, and drop deletes of files that are gone."""
    rewrite_manifests: Annotated[RewriteManifests | None, written.UNSET] = None
    """Sort manifests by partition, and merge small ones."""
    expire_snapshots: Annotated[ExpireSnapshots | None, written.UNSET] = None
    """Drop old snapshots, and the files that only they need."""
    remove_orphan_files: Annotated[RemoveOrphanFiles | None, written.UNSET] = None
    """Delete files that no snapshot knows."""

    @property
    def in_order(self) -> tuple[FollowUp, ...]:
        """Those that are done, in order.

        Examples
        --------
        >>> FollowUps(expire_snapshots=ExpireSnapshots(), rewrite_manifests=RewriteManifests()).in_order
        (RewriteManifests(), ExpireSnapshots(older_than=None, retain_last=None))
        """
        of_all = (
            self.rewrite_position_delete_files,
            self.rewrite_manifests,
            self.expire_snapshots,
            self.remove_orphan_files,
        )
        return tuple(each for each in of_all if each is not None)


@dataclass(frozen=True, config=AS_WRITTEN)
class Conflicts:
    """How writers are let win."""

    markers: written.Flag = True
    """Mark snapshots so that Polaris and Lakekeeper roll them back for a writer that conflicts."""
    back_off: written.Duration = timedelta(minutes=10)
    """How long a table is left alone after a conflict; doubled by each further one."""
    max_back_off: written.Duration = timedelta(hours=6)
    """How long at most; where it is not set, at least back-off."""
    lease: written.Flag = True
    """Have maintainers take turns at a table, by its property zorder.maintained-by."""
    abandoned_files_older_than: written.AbandonedAge = timedelta(days=1)
    """Age of the files deleted that a maintainer which was killed has left; at least 1 hour."""

    @field_validator("max_back_off")
    @classmethod
    def _at_least_back_off(cls, most: timedelta, info: ValidationInfo) -> timedelta:
        back_off = info.data.get("back_off", most)
        if most < back_off:
            raise ValueError(f"{most} is less than back-off, which is {back_off}")
        return most

    def wait(self, conflicts: int) -> timedelta:
        """Tell how long a table is left alone after so many conflicts in a row: twice as long after each.

        Examples
        --------
        >>> print(*(Conflicts().wait(conflicts) for conflicts in (0, 1, 2, 7)), sep=", ")
        0:00:00, 0:10:00, 0:20:00, 6:00:00
        """
        if conflicts < 1:
            return timedelta()
        # Larger powers are of no use, and too large for a duration.
        return min(max(self.max_back_off, self.back_off), self.back_off * (1 << min(conflicts - 1, 20)))


@dataclass(frozen=True, config=AS_WRITTEN)
class QueryFiles:
    """Where the queries on a table stand, and how soon a new layout for them has to pay."""

    sources: written.Sources = Field(default=(), alias="from")
    """Files of queries, directories of them, or globs, relative to the policy; as the command workload takes them."""
    days: written.Days = Field(default_factory=lambda: None, validate_default=True)
    """Of how many days the queries are."""
    format: written.QueryFormat = None
    """What the files are; without it what each looks like."""
    dialect: written.Dialect = None
    """The dialect of SQL in them, one of sqlglot's."""
    pays_within: written.Duration = timedelta(days=7)
    """Within which time queries have to save the bytes that a rewrite for them reads and writes."""
    relayout: written.Relayout = "advise"
    """Whether a pass acts on what advise says where nobody names columns (auto), or only tells it (advise)."""

    @field_validator("days")
    @classmethod
    def _days(cls, days: float | None, info: ValidationInfo) -> float:
        if not days and info.data.get("sources"):
            raise ValueError("is missing: of how many days the queries of from are")
        return days or 0.0


@dataclass(frozen=True, config=AS_WRITTEN)
class TableSettings:
    """What a policy says of one table.

    Examples
    --------
    >>> settings = TableSettings(where="day < today() - interval '7' day")
    >>> from datetime import timezone
    >>> settings.where_at(datetime(2026, 1, 31, tzinfo=timezone.utc))
    "day < DATE '2026-01-24'"
    >>> settings.with_properties({"maintenance.disabled": "true"}).disabled_because
    'the table property maintenance.disabled is true'
    >>> night = TableSettings(allowed_hours="22:00-06:00", time_zone="Europe/Berlin")
    >>> [night.allows(datetime(2026, 7, 1, hour, tzinfo=timezone.utc)) for hour in (3, 4, 19, 20)]
    [True, False, False, True]
    """

    enabled: written.Flag = True
    """Whether the table is maintained."""
    catalog: written.Catalogs = ()
    """Only tables of this catalog, or of these."""
    by: written.SortOrder = None
    """Clustering columns, as a list of names or as a sort order such as zorder(user_id, ts). Without it the table's own
    properties or its last rewrite decide."""
    engine: written.Engine = "auto"
    """What rewrites; auto goes by size and format."""
    branch: written.Branch = None
    """A branch in the place of main."""
    where: written.Condition = None
    """Rewrite only what may match this condition; now(), today() and intervals are those of the pass."""
    options: written.Options = field(default_factory=dict)
    """Options of the rewrite."""
    workload: Annotated[QueryFiles | None, written.UNSET] = None
    """The queries that the table is laid out for, read again by each pass."""
    triggers: Triggers = field(default_factory=Triggers)
    """When a table is looked at for a rewrite: any that is met is enough."""
    time_zone: written.TimeZone = "UTC"
    """Of cron, allowed-hours and where."""
    allowed_hours: written.AllowedHours = None
    """Begin work only in these hours of time-zone."""
    follow_ups: FollowUps = field(default_factory=FollowUps)
    """What is done after rewrites of the table, always in this order: rewrite-position-delete-files, rewrite-manifests,
    expire-snapshots, remove-orphan-files."""
    conflicts: Conflicts = field(default_factory=Conflicts)
    """What is done so that writers win over maintenance."""
    disabled_because: written.Text = "the policy says enabled: false"
    """Why it is not maintained, if it is not: for the report."""

    @field_validator("workload")
    @classmethod
    def _workload(cls, found: QueryFiles | None) -> QueryFiles | None:
        # A rule may have set no more than how soon a layout has to pay.
        return found if found and found.sources else None

    @property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.time_zone)

    def allows(self, now: datetime) -> bool:
        """Return whether work may begin at a moment, which has a time zone."""
        local = now.astimezone(self.zone)
        return not self.allowed_hours or any(each.has(local) for each in self.allowed_hours)

    def where_at(self, now: datetime) -> str | None:
        """Write ``where`` with the dates of a moment, as a rewrite takes it."""
        return None if self.where is None else folded(self.where, now, self.zone)

    def with_properties(self, properties: Mapping[str, str]) -> TableSettings:
        """Honour the properties of the table: its owner may have switched maintenance off."""
        if properties.get(DISABLED_PROPERTY, "").strip().lower() != "true":
            return self
        why = f"the table property {DISABLED_PROPERTY} is true"
        return replace(self, enabled=False, disabled_because=why)


@dataclass(frozen=True, config=AS_WRITTEN)
class Budget:
    """What a pass may take; None is without limit, and whichever is used up first ends it."""

    bytes: written.Size = None
    """Bytes of data files rewritten."""
    minutes: written.Minutes = None
    """Minutes from the start of the pass."""
    tables: written.Count = None
    """Tables rewritten."""


Rules = dict[written.Glob, Annotated[TableSettings | None, written.RULE]] | None


@dataclass(frozen=True, config=AS_WRITTEN)
class PolicyFile:
    """Which Iceberg tables are kept clustered, when, and how.

    Settings are merged key by key: defaults, then the rules of namespaces, then those of tables, each in the order of
    the file.
    """

    version: written.Version
    """The version of this form."""
    catalogs: written.CatalogValues
    """Catalogs by name, with PyIceberg's properties; ${VARIABLE} is taken from the environment. {} takes a catalog of
    .pyiceberg.yaml or PYICEBERG_CATALOG__ variables."""
    budget: Budget = field(default_factory=Budget)
    """What a pass may take; whichever is used up first ends it."""
    interval: written.Duration = timedelta(minutes=5)
    """From the start of a pass to that of the next, with --watch."""
    defaults: TableSettings = field(default_factory=TableSettings)
    """Settings of all tables that a rule matches."""
    namespaces: Rules = None
    """Settings by glob over the dotted name of the namespace."""
    tables: Rules = None
    """Settings by glob over namespace.table."""
