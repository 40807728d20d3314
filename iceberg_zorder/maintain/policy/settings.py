"""The settings of one table in a policy: frozen values that pydantic validates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from datetime import datetime, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic.dataclasses import dataclass

from iceberg_zorder.maintain.policy import written
from iceberg_zorder.maintain.policy.problems import inside
from iceberg_zorder.maintain.policy.relative_dates import folded
from iceberg_zorder.workload.dimension_keys import DEFAULT_READERS

DISABLED_PROPERTY = "maintenance.disabled"
"""Table property by which owners opt out, named as in OpenHouse."""

AS_WRITTEN = ConfigDict(
    extra="forbid",
    alias_generator=lambda name: name.replace("_", "-"),
    populate_by_name=True,
    use_attribute_docstrings=True,
)
"""Keys are in kebab case; unknown keys are refused."""


@dataclass(frozen=True, config=AS_WRITTEN)
class Triggers:
    """When a table is rewritten: any met trigger is enough. Without triggers, it is rewritten when a rewrite pays."""

    scan_ratio: written.Ratio = None
    """Cost of filters, relative to their cost after a full rewrite."""
    depth: written.Ratio = None
    """Clustering depth: average number of files that overlap at a point of the table."""
    commit_count: written.Count = None
    """Number of snapshots since the last rewrite."""
    data_file_count: written.Count = None
    """Number of data files added since the last rewrite."""
    data_file_size: written.Size = None
    """Bytes of data files added since the last rewrite."""
    pos_delete_file_count: written.Count = None
    """Number of position delete files, including deletion vectors, added since the last rewrite."""
    pos_delete_record_count: written.Count = None
    """Number of position deletes added since the last rewrite."""
    eq_delete_file_count: written.Count = None
    """Number of equality delete files added since the last rewrite."""
    eq_delete_record_count: written.Count = None
    """Number of equality deletes added since the last rewrite."""
    small_file_count: written.Count = None
    """Number of data files below min-file-size-bytes."""
    bytes_appended: written.Size = None
    """Bytes appended since the last rewrite."""
    interval: written.Interval = None
    """Time since the last rewrite."""
    cron: written.Cron = None
    """Cron expression in time-zone: due once one of its times has passed since the last rewrite."""


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
    """Age of the snapshots to drop; default: the table's history.expire.max-snapshot-age-ms, else 5 days."""
    retain_last: written.Count = None
    """Number of snapshots to keep at any age; default: the table's history.expire.min-snapshots-to-keep, else 1."""


@dataclass(frozen=True, config=AS_WRITTEN)
class RemoveOrphanFiles:
    """Delete files that no snapshot knows."""

    older_than: written.OrphanAge = timedelta(days=3)
    """Age of the files to delete, at least 1 day: younger files may belong to commits in progress."""


FollowUp = RewritePositionDeleteFiles | RewriteManifests | ExpireSnapshots | RemoveOrphanFiles


@dataclass(frozen=True, config=AS_WRITTEN)
class FollowUps:
    """Steps after a table's rewrites. ``{}`` enables a step with its defaults; false or None disables it.

    The order matters: each step removes leftovers of earlier ones. Applied deletes are dropped before manifests are
    rewritten, so that manifests do not list them. Both come before snapshots expire, so that only old snapshots still
    refer to the replaced files. Orphan files are removed last.
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
        """The enabled steps, in order.

        Examples
        --------
        >>> FollowUps(expire_snapshots=ExpireSnapshots(), rewrite_manifests=RewriteManifests()).in_order
        (RewriteManifests(), ExpireSnapshots(older_than=None, retain_last=None))
        """
        return tuple(each for field in fields(self) if (each := getattr(self, field.name)) is not None)


@dataclass(frozen=True, config=AS_WRITTEN)
class Conflicts:
    """How maintenance gives way to writers."""

    markers: written.Flag = True
    """Mark snapshots so that Polaris and Lakekeeper roll them back for a conflicting writer."""
    back_off: written.Duration = timedelta(minutes=10)
    """How long maintenance leaves a table alone after a conflict; each further conflict doubles it."""
    max_back_off: written.Duration = timedelta(hours=6)
    """Longest back-off; the default is at least back-off."""
    lease: written.Flag = True
    """Make maintainers take turns at a table, by its property zorder.maintained-by."""

    @field_validator("max_back_off")
    @classmethod
    def _at_least_back_off(cls, most: timedelta, info: ValidationInfo) -> timedelta:
        back_off = info.data.get("back_off", most)
        if most < back_off:
            raise ValueError(f"{most} is less than back-off, which is {back_off}")
        return most

    def wait(self, conflicts: int) -> timedelta:
        """Return the back-off after a number of conflicts in a row; each conflict doubles it.

        Examples
        --------
        >>> print(*(Conflicts().wait(conflicts) for conflicts in (0, 1, 2, 7)), sep=", ")
        0:00:00, 0:10:00, 0:20:00, 6:00:00
        """
        if conflicts < 1:
            return timedelta()
        # Larger powers would overflow a duration.
        return min(max(self.max_back_off, self.back_off), self.back_off * (1 << min(conflicts - 1, 20)))


@dataclass(frozen=True, config=AS_WRITTEN)
class QueryFiles:
    """The files with a table's queries, and how soon a new layout for them must pay."""

    sources: written.Names = Field(default=(), alias="from")
    """Query files, directories or globs, relative to the policy, as for the command workload."""
    days: written.Days = Field(default=0.0, validate_default=True)
    """Number of days that the queries cover."""
    format: written.QueryFormat = None
    """Format of the files; default: detected per file."""
    dialect: written.Dialect = None
    """SQL dialect of the files, one of sqlglot's."""
    readers: written.Readers = DEFAULT_READERS
    """Engines that read the table, which tells how joins skip files."""
    pays_within: written.Duration = timedelta(days=7)
    """Time in which the queries must save the bytes that a rewrite for them reads and writes."""
    relayout: Literal["advise", "auto"] = "advise"
    """auto: passes apply the advised layout if nobody names columns; advise: they only report it."""

    @field_validator("days")
    @classmethod
    def _days(cls, days: float, info: ValidationInfo) -> float:
        if not days and info.data.get("sources"):
            raise ValueError("is missing: set the number of days that the queries of from cover")
        return days


@dataclass(frozen=True, config=AS_WRITTEN)
class TableSettings:
    """A policy's settings for one table.

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
    engine: Literal["auto", "pyiceberg", "spark"] = "auto"
    """The engine that rewrites; auto chooses by size and format."""
    branch: written.Branch = None
    """Branch to maintain instead of main."""
    where: written.Condition = None
    """Rewrite only files that may match this condition; now() and today() are the time of the pass."""
    workload: Annotated[QueryFiles | None, written.UNSET] = None
    """The table's queries, read again by each pass."""
    options: written.Options = field(default_factory=dict)
    """Options of the rewrite."""
    triggers: Triggers = field(default_factory=Triggers)
    """When the table is rewritten: any met trigger is enough."""
    time_zone: ZoneInfo = ZoneInfo("UTC")
    """Time zone of cron, allowed-hours and where."""
    allowed_hours: written.AllowedHours = None
    """Start work only in these hours of time-zone."""
    follow_ups: FollowUps = field(default_factory=FollowUps)
    """Steps after rewrites of the table, always in this order: rewrite-position-delete-files, rewrite-manifests,
    expire-snapshots, remove-orphan-files."""
    conflicts: Conflicts = field(default_factory=Conflicts)
    """How maintenance of the table gives way to writers."""
    disabled_because: written.Text = "the policy says enabled: false"
    """Reason in the report if the table is not maintained."""

    @field_validator("workload")
    @classmethod
    def _workload(cls, found: QueryFiles | None) -> QueryFiles | None:
        # A rule may set pays-within alone, without query files.
        return found if found and found.sources else None

    def allows(self, now: datetime) -> bool:
        """Return whether work may start at a time, which must have a time zone."""
        local = now.astimezone(self.time_zone)
        return not self.allowed_hours or any(each.has(local) for each in self.allowed_hours)

    def where_at(self, now: datetime) -> str | None:
        """Return ``where`` with relative dates replaced by literals."""
        return None if self.where is None else folded(self.where, now, self.time_zone)

    def with_properties(self, properties: Mapping[str, str]) -> TableSettings:
        """Return the settings with the table's own opt-out applied."""
        if properties.get(DISABLED_PROPERTY, "").strip().lower() != "true":
            return self
        why = f"the table property {DISABLED_PROPERTY} is true"
        return replace(self, enabled=False, disabled_because=why)


@dataclass(frozen=True, config=AS_WRITTEN)
class Budget:
    """Limits of a pass; None is unlimited, and the first limit reached ends the pass."""

    bytes: written.Size = None
    """Bytes of data files to rewrite."""
    minutes: written.Minutes = None
    """Minutes from the start of the pass."""
    tables: written.Count = None
    """Tables to rewrite."""


Rules = dict[written.Text, TableSettings | None] | None


@dataclass(frozen=True, config=AS_WRITTEN)
class PolicyFile:
    """Which Iceberg tables are kept clustered, when, and how.

    Settings are merged key by key: defaults, then namespace rules, then table rules, each in the order of the file.
    """

    version: Literal[1]
    """Version of the policy format."""
    catalogs: Annotated[dict[written.Text, written.Catalog], Field(min_length=1)]
    """Catalogs by name, with PyIceberg's properties; ${VARIABLE} reads the environment. {} uses a catalog of
    .pyiceberg.yaml or PYICEBERG_CATALOG__ variables."""
    budget: Budget = field(default_factory=Budget)
    """Limits of a pass; the first limit reached ends it."""
    interval: written.Duration = timedelta(minutes=5)
    """Time between the starts of two passes, with --watch."""
    defaults: TableSettings = field(default_factory=TableSettings)
    """Settings for all tables that a rule matches."""
    namespaces: Rules = None
    """Settings by glob over the dotted namespace."""
    tables: Rules = None
    """Settings by glob over namespace.table."""

    @model_validator(mode="after")
    def _has_rules(self) -> PolicyFile:
        if not (self.namespaces or self.tables):
            why = 'there is no rule: write rules under namespaces or tables, such as "*": {} for all'
            raise inside([(("tables",), why)])
        return self
