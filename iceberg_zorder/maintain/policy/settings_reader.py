"""Settings as written become values: everything in them is checked by the code that uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, TypeVar

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.problems import Path, Problems, reason, unknown_key
from iceberg_zorder.maintain.policy.relative_dates import folded
from iceberg_zorder.maintain.policy.schedule import AllowedHours, HourRange, check_cron, time_zone
from iceberg_zorder.maintain.policy.settings import (
    Conflicts,
    ExpireSnapshots,
    FollowUps,
    QueryFiles,
    RemoveOrphanFiles,
    RewriteManifests,
    RewritePositionDeleteFiles,
    TableSettings,
    Triggers,
)
from iceberg_zorder.request.arguments import option_text, sort_order_text
from iceberg_zorder.request.measures import duration, size
from iceberg_zorder.request.rewrite_options import (
    KNOWN_OPTIONS,
    MEMORY_LIMIT,
    SMALLEST_MEMORY_LIMIT,
    RewriteOptions,
    domain_faults,
    rewrite_options,
)
from iceberg_zorder.workload.readers.statements import dialect_of

_T = TypeVar("_T")
# Most rules and tables have the same few conditions and options.
_REMEMBERED = 1_000
_YOUNGEST_ORPHAN = timedelta(days=1)
_YOUNGEST_ABANDONED = timedelta(hours=1)
# Days of one digit and of two, months of different lengths: whatever the moment, the same conditions are refused.
_SOME_MOMENT = datetime(2026, 3, 31, 12, 30, tzinfo=timezone.utc)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings as written key by key, and mappings in them, too; the later win.

    Examples
    --------
    >>> merged({"by": ["a"], "triggers": {"depth": 4, "cron": "0 3 * * *"}}, {"by": ["b"], "triggers": {"depth": 5}})
    {'by': ['b'], 'triggers': {'depth': 5, 'cron': '0 3 * * *'}}
    """
    found = dict(base)
    for key, value in over.items():
        before = found.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        found[key] = merged(before, value) if both and before is not None else value
    return found


def names_of(value: str | list[str]) -> tuple[str, ...]:
    """Read one name, or a list of them.

    Examples
    --------
    >>> names_of("lake"), names_of(["lake", "pond"])
    (('lake',), ('lake', 'pond'))
    """
    return (value,) if isinstance(value, str) else tuple(value)


def settings_of(raw: Mapping[str, Any], problems: Problems, path: Path = ()) -> TableSettings:
    """Read settings.

    Parameters
    ----------
    raw : mapping
        Settings as written. Values of which a problem is noted already are left out.
    problems : Problems
        Where is noted what is wrong.
    path : path, optional
        Where the settings stand.

    Returns
    -------
    TableSettings
        The settings, with defaults for what is not said, and for what is wrong.

    Examples
    --------
    >>> problems = Problems("policy.yaml")
    >>> settings_of({"by": ["a", "b"], "options": {"max-scan-ratio": 1.5}}, problems).options
    {'max-scan-ratio': '1.5'}
    >>> _ = settings_of({"conflicts": {"back-off": "1 fortnight"}}, problems, ("defaults",))
    >>> problems.raise_any()
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use policy.yaml, because defaults.conflicts.back-off: \
'1 fortnight' is not a duration: seconds, or such as 5 minutes, 2 h or 1 day
    """
    fields = _Fields(raw, problems, path)
    workload = _workload(fields.inside("workload"))
    options = _options(fields.inside("options"), workload)
    zone = fields.read("time-zone", _zone_name, "UTC")
    enabled = fields.read_boolean("enabled")
    return TableSettings(
        enabled=enabled,
        disabled_because="" if enabled else "the policy says enabled: false",
        catalog=fields.read("catalog", names_of, ()),
        by=fields.read("by", _sort_order, None),
        engine=fields.read("engine", str, "auto"),
        branch=fields.read("branch", str, None),
        where=fields.read("where", _condition, None),
        options=options,
        workload=workload,
        triggers=_triggers(fields.inside("triggers")),
        time_zone=zone,
        allowed_hours=AllowedHours(fields.read("allowed-hours", _hours, ()), zone),
        follow_ups=_follow_ups(fields.inside("follow-ups")),
        conflicts=_conflicts(fields.inside("conflicts")),
    )


class _Fields:
    """A mapping of settings: what is not there, or is false, or is wrong, is the default."""

    def __init__(self, raw: Mapping[str, Any], problems: Problems, path: Path) -> None:
        self.raw = raw
        self.problems = problems
        self.path = path

    def has(self, key: str) -> bool:
        return self.raw.get(key, False) is not False and not self.problems.has((*self.path, key))

    def read(self, key: str, parse: Callable[[Any], _T], default: _T) -> _T:
        if not self.has(key):
            return default
        try:
            return parse(self.raw[key])
        except InvalidInputError as error:
            self.problems.add((*self.path, key), reason(error))
            return default

    def read_boolean(self, key: str) -> bool:
        return self.raw.get(key) is not False

    def inside(self, key: str) -> _Fields:
        value = self.raw.get(key)
        return _Fields(value if isinstance(value, Mapping) else {}, self.problems, (*self.path, key))


def _zone_name(name: str) -> str:
    time_zone(name)
    return name


def _sort_order(value: str | list[str]) -> str:
    return sort_order_text("the table", value)


@lru_cache(maxsize=_REMEMBERED)
def _condition(text: str) -> str:
    folded(text, _SOME_MOMENT, timezone.utc)
    return text


def _hours(value: str | list[str]) -> tuple[HourRange, ...]:
    return tuple(HourRange.parse(text) for text in names_of(value))


def _cron(expression: str) -> str:
    check_cron(expression)
    return expression


def _workload(fields: _Fields) -> QueryFiles | None:
    """Read where queries stand; nothing as long as nobody says so."""
    if not fields.has("from"):
        return None
    if fields.raw.get("days") is None:
        fields.problems.add((*fields.path, "days"), "is missing: of how many days the queries of from are")
    return QueryFiles(
        fields.read("from", names_of, ()),
        fields.read("days", float, 1.0),
        fields.read("format", str, None),
        fields.read("dialect", _dialect, None),
        fields.read("pays-within", duration, QueryFiles((), 1.0).pays_within),
        fields.read("relayout", str, QueryFiles((), 1.0).relayout),
    )


def _dialect(name: str) -> str:
    dialect_of(name)
    return name


def _options(fields: _Fields, workload: QueryFiles | None) -> dict[str, str]:
    """Check options one by one, so that each problem has its line, and then what they say together."""
    found = {}
    # What belongs to a workload may stand beside one that is read for each pass.
    beside = {} if workload is None else {"workload": ""}
    for name, value in fields.raw.items():
        path = (*fields.path, name)
        if fields.problems.has(path):
            continue
        if name not in KNOWN_OPTIONS:
            near = unknown_key(name, KNOWN_OPTIONS).partition(": known are")
            fields.problems.add(path, f"{near[0]}: it is no option of rewrites" if near[1] else near[0])
        elif name == "dry-run":
            fields.problems.add(path, "is for one call: none would write anything then")
        elif name in beside:
            fields.problems.add(path, "is set beside workload.from: say by one of them which queries count")
        else:
            try:
                found[name] = option_text(name, value)
                _check_options({**beside, name: found[name]})
            except InvalidInputError as error:
                fields.problems.add(path, reason(error))
    if not fields.problems.has(fields.path):
        try:
            _check_options({**beside, **found})
        except InvalidInputError as error:
            fields.problems.add(fields.path, reason(error))
    return found


def _check_options(options: Mapping[str, str]) -> None:
    _checked_options(tuple(options.items()))


@lru_cache(maxsize=_REMEMBERED)
def _checked_options(options: tuple[tuple[str, str], ...]) -> RewriteOptions:
    # With a limit of memory, which would else be looked up on the machine.
    read = rewrite_options({MEMORY_LIMIT: str(SMALLEST_MEMORY_LIMIT), **dict(options)})
    for fault in domain_faults(read, read.target_file_size, read.min_file_size, read.max_file_size):
        raise InvalidInputError(fault)
    return read


def _triggers(fields: _Fields) -> Triggers:
    return Triggers(
        scan_ratio=fields.read("scan-ratio", float, None),
        depth=fields.read("depth", float, None),
        commit_count=fields.read("commit-count", int, None),
        data_file_count=fields.read("data-file-count", int, None),
        data_file_size=fields.read("data-file-size", size, None),
        pos_delete_file_count=fields.read("pos-delete-file-count", int, None),
        pos_delete_record_count=fields.read("pos-delete-record-count", int, None),
        eq_delete_file_count=fields.read("eq-delete-file-count", int, None),
        eq_delete_record_count=fields.read("eq-delete-record-count", int, None),
        small_file_count=fields.read("small-file-count", int, None),
        bytes_appended=fields.read("bytes-appended", size, None),
        interval=fields.read("interval", duration, None),
        cron=fields.read("cron", _cron, None),
    )


def _follow_ups(fields: _Fields) -> FollowUps:
    expire, orphans = fields.inside("expire-snapshots"), fields.inside("remove-orphan-files")
    return FollowUps(
        fields.read("rewrite-position-delete-files", lambda _: RewritePositionDeleteFiles(), None),
        fields.read("rewrite-manifests", lambda _: RewriteManifests(), None),
        ExpireSnapshots(expire.read("older-than", duration, None), expire.read("retain-last", int, None))
        if fields.has("expire-snapshots")
        else None,
        RemoveOrphanFiles(orphans.read("older-than", _orphan_age, RemoveOrphanFiles().older_than))
        if fields.has("remove-orphan-files")
        else None,
    )


def _orphan_age(value: int | str) -> timedelta:
    age = duration(value)
    if age < _YOUNGEST_ORPHAN:
        raise InvalidInputError(f"'{value}' is less than 1 day: files of commits under way are no orphans")
    return age


def _conflicts(fields: _Fields) -> Conflicts:
    default = Conflicts()
    back_off = fields.read("back-off", duration, default.back_off)

    def at_most(value: int | str) -> timedelta:
        most = duration(value)
        if most < back_off:
            raise InvalidInputError(f"'{value}' is less than back-off, which is {back_off}")
        return most

    most = fields.read("max-back-off", at_most, max(default.max_back_off, back_off))
    return Conflicts(
        fields.read_boolean("markers"),
        back_off,
        most,
        fields.read_boolean("lease"),
        fields.read("abandoned-files-older-than", _abandoned_age, default.abandoned_files_older_than),
    )


def _abandoned_age(value: int | str) -> timedelta:
    age = duration(value)
    if age < _YOUNGEST_ABANDONED:
        raise InvalidInputError(f"'{value}' is less than 1 hour: a rewrite under way may not have committed such files")
    return age
