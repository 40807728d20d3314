"""What a policy says of one table, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from iceberg_zorder.maintain.policy.relative_dates import folded
from iceberg_zorder.maintain.policy.schedule import AllowedHours, cron_due

DISABLED_PROPERTY = "maintenance.disabled"
"""The table property by which owners opt out; OpenHouse's."""


@dataclass(frozen=True)
class Triggers:
    """When a table is due: where any of them is met. None is not set; if all are, it is due where a rewrite pays.

    Parameters
    ----------
    scan_ratio : float or None
        Filters read so many times what they would read after a rewrite of everything.
    depth : float or None
        A point of the clustering columns lies in so many files, on average.
    commit_count, data_file_count : int or None
        Snapshots and data files since the last rewrite.
    data_file_size : int or None
        Bytes of data files added since the last rewrite.
    pos_delete_file_count, pos_delete_record_count, eq_delete_file_count, eq_delete_record_count : int or None
        Delete files added since the last rewrite, and deletes in them.
    small_file_count : int or None
        Data files below the size that is in order.
    bytes_appended : int or None
        Bytes appended since the last rewrite.
    interval : datetime.timedelta or None
        Time since the last rewrite.
    cron : str or None
        A cron expression.
    """

    scan_ratio: float | None = None
    depth: float | None = None
    commit_count: int | None = None
    data_file_count: int | None = None
    data_file_size: int | None = None
    pos_delete_file_count: int | None = None
    pos_delete_record_count: int | None = None
    eq_delete_file_count: int | None = None
    eq_delete_record_count: int | None = None
    small_file_count: int | None = None
    bytes_appended: int | None = None
    interval: timedelta | None = None
    cron: str | None = None

    def cron_due(self, last: datetime, now: datetime, zone: tzinfo) -> bool:
        """Tell whether a time of the cron expression lies in (last, now]; never where there is no expression.

        Examples
        --------
        >>> from datetime import timezone
        >>> noon = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
        >>> Triggers(cron="0 3 * * *").cron_due(noon, noon + timedelta(hours=15), timezone.utc)
        True
        """
        return self.cron is not None and cron_due(self.cron, last, now, zone)


@dataclass(frozen=True)
class RewritePositionDeleteFiles:
    """Compact position delete files, and drop deletes of files that are gone."""


@dataclass(frozen=True)
class RewriteManifests:
    """Sort manifests by partition, and merge small ones."""


@dataclass(frozen=True)
class ExpireSnapshots:
    """Drop old snapshots. None leaves it to the table's own properties, else to Iceberg's defaults.

    Parameters
    ----------
    older_than : datetime.timedelta or None
        Age of the snapshots dropped.
    retain_last : int or None
        So many are kept, whatever their age.
    """

    older_than: timedelta | None = None
    retain_last: int | None = None


@dataclass(frozen=True)
class RemoveOrphanFiles:
    """Delete files that no snapshot knows.

    Parameters
    ----------
    older_than : datetime.timedelta
        Age of the files deleted, at least one day: younger ones may be of commits under way.
    """

    older_than: timedelta = timedelta(days=3)


FollowUp = RewritePositionDeleteFiles | RewriteManifests | ExpireSnapshots | RemoveOrphanFiles


@dataclass(frozen=True)
class FollowUps:
    """What is done after rewrites of a table; None is not done.

    Each leaves behind what a later one takes away. Deletes that a rewrite has applied are dropped before manifests are
    written, so that these do not list them; both are done before snapshots expire, so that what they have replaced is
    kept by old snapshots only, and goes when these do. Orphans are looked for last, when everything that has a
    snapshot is settled.

    Parameters
    ----------
    rewrite_position_delete_files : RewritePositionDeleteFiles or None
        The first.
    rewrite_manifests : RewriteManifests or None
        The second.
    expire_snapshots : ExpireSnapshots or None
        The third.
    remove_orphan_files : RemoveOrphanFiles or None
        The last.
    """

    rewrite_position_delete_files: RewritePositionDeleteFiles | None = None
    rewrite_manifests: RewriteManifests | None = None
    expire_snapshots: ExpireSnapshots | None = None
    remove_orphan_files: RemoveOrphanFiles | None = None

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


@dataclass(frozen=True)
class Conflicts:
    """How writers are let win.

    Parameters
    ----------
    markers : bool
        Whether snapshots are marked so that Polaris and Lakekeeper roll them back for a writer.
    back_off : datetime.timedelta
        How long a table is left alone after a conflict.
    max_back_off : datetime.timedelta
        How long at most.
    lease : bool
        Whether maintainers take turns at a table, by a property of it.
    abandoned_files_older_than : datetime.timedelta
        Age of the files deleted that a maintainer which was killed has left, at least one hour.
    """

    markers: bool = True
    back_off: timedelta = timedelta(minutes=10)
    max_back_off: timedelta = timedelta(hours=6)
    lease: bool = True
    abandoned_files_older_than: timedelta = timedelta(days=1)

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
        return min(self.max_back_off, self.back_off * (1 << min(conflicts - 1, 20)))


@dataclass(frozen=True)
class QueryFiles:
    """Where the queries on a table stand, and how soon a new layout for them has to pay.

    Parameters
    ----------
    sources : tuple of str
        Files and directories, or globs over them, relative to the policy; at least one.
    days : float
        Of how many days the queries are, above 0.
    format : str or None
        What the files are, one of :data:`iceberg_zorder.workload.readers.files.FORMATS`; None for what each looks like.
    dialect : str or None
        The dialect of SQL in them; None for what most dialects agree in.
    pays_within : datetime.timedelta
        Within which time queries have to save the bytes that a rewrite for them reads and writes.
    relayout : str
        ``auto`` to have passes act on what ``advise`` says, or ``advise`` to have it told only.
    """

    sources: tuple[str, ...]
    days: float
    format: str | None = None
    dialect: str | None = None
    pays_within: timedelta = timedelta(days=7)
    relayout: str = "advise"


@dataclass(frozen=True)
class TableSettings:
    """What a policy says of one table.

    Parameters
    ----------
    enabled : bool
        Whether it is maintained.
    disabled_because : str
        Why not, if it is not.
    catalog : tuple of str
        The catalogs that the settings are for; all, where there are none.
    by : str or None
        The sort order; None leaves it to the table.
    engine : str
        ``auto``, ``pyiceberg`` or ``spark``.
    branch : str or None
        The branch, if not main.
    where : str or None
        What is rewritten, with relative dates as written; see :meth:`where_at`.
    options : mapping of str to str
        Options of the rewrite, as it takes them.
    workload : QueryFiles or None
        The queries that it is laid out for.
    triggers : Triggers
        When the table is due.
    time_zone : str
        The time zone of ``where``, the cron expression and the allowed hours.
    allowed_hours : AllowedHours
        When work on it may begin.
    follow_ups : FollowUps
        What is done after rewrites.
    conflicts : Conflicts
        How writers are let win.

    Examples
    --------
    >>> settings = TableSettings(where="day < today() - interval '7' day")
    >>> from datetime import timezone
    >>> settings.where_at(datetime(2026, 1, 31, tzinfo=timezone.utc))
    "day < DATE '2026-01-24'"
    >>> settings.with_properties({"maintenance.disabled": "true"}).disabled_because
    'the table property maintenance.disabled is true'
    """

    enabled: bool = True
    disabled_because: str = ""
    catalog: tuple[str, ...] = ()
    by: str | None = None
    engine: str = "auto"
    branch: str | None = None
    where: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    workload: QueryFiles | None = None
    triggers: Triggers = field(default_factory=Triggers)
    time_zone: str = "UTC"
    allowed_hours: AllowedHours = field(default_factory=AllowedHours)
    follow_ups: FollowUps = field(default_factory=FollowUps)
    conflicts: Conflicts = field(default_factory=Conflicts)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.time_zone)

    def where_at(self, now: datetime) -> str | None:
        """Write ``where`` with the dates of a moment, as a rewrite takes it."""
        return None if self.where is None else folded(self.where, now, self.zone)

    def cron_due(self, last: datetime, now: datetime) -> bool:
        """Tell whether a time of the cron expression lies in (last, now], in the time zone of the settings."""
        return self.triggers.cron_due(last, now, self.zone)

    def with_properties(self, properties: Mapping[str, str]) -> TableSettings:
        """Honour the properties of the table: its owner may have switched maintenance off."""
        if properties.get(DISABLED_PROPERTY, "").strip().lower() != "true":
            return self
        why = f"the table property {DISABLED_PROPERTY} is true"
        return replace(self, enabled=False, disabled_because=why)
