"""The types of a policy's settings: how each is parsed, and how messages describe its form."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, WrapValidator
from pydantic_core import CoreSchema, core_schema

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.problems import reason
from iceberg_zorder.maintain.policy.relative_dates import folded
from iceberg_zorder.maintain.policy.schedule import HourRange, check_cron, time_zone
from iceberg_zorder.rewrite.measures import duration, size
from iceberg_zorder.rewrite.options import option_text, sort_order_text
from iceberg_zorder.workload.dimension_keys import READERS, check_readers
from iceberg_zorder.workload.readers.files import FORMATS
from iceberg_zorder.workload.readers.statements import dialect_of

# One- and two-digit days, months of different lengths: the same conditions are refused at any time.
_SOME_MOMENT = datetime(2026, 3, 31, 12, 30, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Written:
    """The form of a setting, for pydantic; other values are refused with a message that describes the form."""

    form: str
    """Description of valid values, for "'x' is not ..."."""
    parse: Callable[[Any], object]
    """Parses a value. Returns None for values of another form; raises InvalidInputError for a more specific message."""
    optional: bool = False
    """Whether ``false`` and an empty value mean None; ``false`` removes an earlier rule's setting."""
    is_secret: bool = False
    """Whether messages hide the value."""

    def read(self, value: object) -> object:
        """Return the setting; raises ValueError."""
        if self.optional and (value is None or value is False):
            return None
        try:
            found = self.parse(value)
        except InvalidInputError as error:
            raise ValueError(reason(error)) from None
        if found is None:
            raise ValueError(f"{'the value' if self.is_secret else shown(value)} is not {self.form}")
        return found

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"title": self.form}


def shown(value: object) -> str:
    """Return a value as text for messages."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping | list):
        return "a list" if isinstance(value, list) else "a mapping"
    text = value if isinstance(value, str) else json.dumps(value)
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return f"'{short}'" if isinstance(value, str) else short


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _checked(check: Callable[[str], object]) -> Callable[[object], str | None]:
    """Return a parser of texts that ``check`` validates."""

    def parse(value: object) -> str | None:
        text = _text(value)
        if text is not None:
            check(text)
        return text

    return parse


def _names(value: object) -> tuple[str, ...] | None:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or names == []:
        return None
    return tuple(names) if all(map(_text, names)) else None


def _readers(value: object) -> tuple[str, ...] | None:
    names = _names(value)
    return None if names is None else check_readers(names)


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(least: float, above: bool = False, most: float = math.inf) -> Callable[[object], float | None]:
    def parse(value: object) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        return float(value) if (value > least if above else value >= least) and value <= most else None

    return parse


def _count(value: object) -> int | None:
    number = _number(1)(value)
    return int(number) if number is not None and number.is_integer() else None


def _measured(parse: Callable[[Any], Any]) -> Callable[[object], Any]:
    def read(value: object) -> Any:
        if isinstance(value, str | int) and not isinstance(value, bool):
            # YAML's special numbers arrive as texts.
            return parse(value) if isinstance(value, str) or value >= 1 else None
        return None

    return read


def _duration(least: timedelta = timedelta(), why: str = "") -> Callable[[object], timedelta | None]:
    def read(value: object) -> timedelta | None:
        age: timedelta | None = value if isinstance(value, timedelta) else _measured(duration)(value)
        if age is not None and age < least:
            raise InvalidInputError(f"{shown(value)} is less than {why}")
        return age

    return read


def _hours(value: object) -> tuple[HourRange, ...] | None:
    if isinstance(value, tuple):
        return value
    names = _names(value)
    return None if names is None else tuple(map(HourRange.parse, names))


def _sort_order(value: object) -> str | None:
    names = _names(value)
    return None if names is None else sort_order_text("the table", value if isinstance(value, str) else names)


@lru_cache(maxsize=1_000)
def _check_condition(text: str) -> None:
    folded(text, _SOME_MOMENT, timezone.utc)


def _one_of(*known: str) -> Callable[[object], str | None]:
    return lambda value: value if isinstance(value, str) and value in known else None


def _option(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _option_texts(options: object) -> object:
    if not isinstance(options, Mapping):
        return options
    scalar = (str, int, float)
    return {name: option_text(name, each) if isinstance(each, scalar) else each for name, each in options.items()}


def _property(value: object) -> object:
    if isinstance(value, Mapping):
        return value if all(_property(each) is not None for each in value.values()) else None
    return value if isinstance(value, str) else None


def _as_mapping(value: object) -> object:
    return value if isinstance(value, Mapping) else None


def _mapping(value: object) -> object:
    return _as_mapping(value) or None


_SIZE = "a size: bytes, or such as 10 GB or 512 MiB"
_DURATION = "a duration: seconds, or such as 5 minutes, 2 h or 1 day"
_RATIO = "a number of at least 1"
_COUNT = "a whole number of at least 1"
_CATALOGS = "the name of a catalog, or a list of names"
_SORT_ORDER = "a sort order such as zorder(user_id, ts), or a list of columns"
_HOURS = "hours, such as 22:00-06:00 or sat,sun 00:00-24:00, or a list of these"
_ORPHAN = "1 day: files of commits under way are no orphans"

_CATALOGS_SECTION = "a mapping of one catalog or more, by name"
_CATALOG = "a mapping of PyIceberg's properties, or {}"
_PROPERTY = "a text, or a mapping of properties"
_VERSION = "a version that this release knows: write 1"
_OPTION = "the value of an option: a text, a number, true or false"

UNSET = BeforeValidator(lambda value: None if value is False else value)
"""For a mapping of settings: ``false`` removes the settings of an earlier rule."""

_RULE = Written("a mapping of settings", lambda value: {} if value is None else _as_mapping(value))
RULE = WrapValidator(lambda value, _: _RULE.read(value))
"""For settings that are validated after merging the defaults, because some are valid only together."""

Flag = Annotated[bool, Written("true or false", _boolean)]
Catalogs = Annotated[tuple[str, ...], Written(_CATALOGS, _names)]
SortOrder = Annotated[str | None, Written(_SORT_ORDER, _sort_order, optional=True)]
Engine = Annotated[str, Written("auto, pyiceberg or spark", _one_of("auto", "pyiceberg", "spark"))]
Text = Annotated[str, Written("a text", _text)]
Relayout = Annotated[str, Written("advise or auto", _one_of("advise", "auto"))]
Branch = Annotated[str | None, Written("a text", _text, optional=True)]
Condition = Annotated[str | None, Written("a text", _checked(_check_condition), optional=True)]
Sources = Annotated[tuple[str, ...], Written("a path or a glob, or a list of them", _names)]
QueryFormat = Annotated[
    str | None, Written(f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}", _one_of(*FORMATS), optional=True)
]
Dialect = Annotated[str | None, Written("a text", _checked(dialect_of), optional=True)]
Readers = Annotated[tuple[str, ...], Written(f"one of {', '.join(READERS)}, or a list of them", _readers)]
Days = Annotated[float, Written("a number of days above 0, of 36,500 at most", _number(0, True, 36_500), optional=True)]
Ratio = Annotated[float | None, Written(_RATIO, _number(1), optional=True)]
Count = Annotated[int | None, Written(_COUNT, _count, optional=True)]
Size = Annotated[int | None, Written(_SIZE, _measured(size), optional=True)]
Interval = Annotated[timedelta | None, Written(_DURATION, _duration(), optional=True)]
Duration = Annotated[timedelta, Written(_DURATION, _duration())]
OrphanAge = Annotated[timedelta, Written(_DURATION, _duration(timedelta(days=1), _ORPHAN))]
Minutes = Annotated[
    float | None, Written("a number above 0, of a year at most", _number(0, True, 525_600), optional=True)
]
Cron = Annotated[str | None, Written("a cron expression, such as 0 3 * * *", _checked(check_cron), optional=True)]
TimeZone = Annotated[str, Written("the name of a time zone, such as Europe/Berlin", _checked(time_zone))]
AllowedHours = Annotated[tuple[HourRange, ...] | None, Written(_HOURS, _hours, optional=True)]
Options = Annotated[dict[str, Annotated[str, Written(_OPTION, _option)]], BeforeValidator(_option_texts)]
Version = Annotated[int, Written(_VERSION, lambda value: value if value == 1 and value is not True else None)]
Glob = Annotated[str, Written("a glob", _text)]
CatalogValues = Annotated[
    dict[
        str,
        Annotated[
            dict[str, Annotated[object, Written(_PROPERTY, _property, is_secret=True)]],
            BeforeValidator(Written(_CATALOG, _as_mapping, is_secret=True).read),
        ],
    ],
    BeforeValidator(Written(_CATALOGS_SECTION, _mapping, is_secret=True).read),
]
