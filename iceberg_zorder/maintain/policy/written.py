"""The types of a policy's settings, for pydantic; ``| None`` with UNSET is a setting that ``false`` removes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    ValidationInfo,
)
from pydantic_core import CoreSchema, core_schema

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.catalogs import CatalogProperties, catalog_of
from iceberg_zorder.maintain.policy.problems import inside, reason
from iceberg_zorder.maintain.policy.relative_dates import folded
from iceberg_zorder.maintain.policy.schedule import HourRange, check_cron
from iceberg_zorder.rewrite.measures import duration, size
from iceberg_zorder.rewrite.options import (
    KNOWN_OPTIONS,
    MEMORY_LIMIT,
    SMALLEST_MEMORY_LIMIT,
    domain_faults,
    option_text,
    rewrite_options,
    sort_order_text,
    spelled_alike,
)
from iceberg_zorder.workload.dimension_keys import check_readers
from iceberg_zorder.workload.readers.files import Format
from iceberg_zorder.workload.readers.statements import dialect_of

# One- and two-digit days, months of different lengths: the same conditions are refused at any time.
_SOME_MOMENT = datetime(2026, 3, 31, 12, 30, tzinfo=timezone.utc)


class _Unset:
    """For an optional setting: ``false`` removes the setting of an earlier rule."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        unset = core_schema.no_info_before_validator_function
        return unset(lambda value: None if value is False else value, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [*handler(schema)["anyOf"], {"const": False}]}


def _checked(check: Callable[[str], object]) -> AfterValidator:
    """Return a validator that refuses what ``check`` refuses."""

    def checked(text: str) -> str:
        check(text)
        return text

    return AfterValidator(checked)


@lru_cache(maxsize=1_000)  # most rules and tables have the same few conditions
def _check_condition(text: str) -> None:
    folded(text, _SOME_MOMENT, timezone.utc)


def _measured(parse: Callable[[int | str], Any]) -> PlainValidator:
    def measured(value: Any) -> Any:
        if isinstance(value, timedelta):
            return value
        return parse(value if type(value) is int and value > 0 else str(value))

    return PlainValidator(measured, json_schema_input_type=int | str)


def _listed(value: object) -> object:
    if value == []:
        raise ValueError("is an empty list")
    return [value] if isinstance(value, str) else value


def _old_enough(age: timedelta) -> timedelta:
    if age < timedelta(days=1):
        raise ValueError(f"{age} is less than 1 day: files of commits under way are no orphans")
    return age


def _sort_order(value: object) -> str:
    if not isinstance(value, str | list):
        raise ValueError("it is not a sort order such as zorder(user_id, ts), or a list of columns")
    return sort_order_text("the table", value)


def _known(names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    known = list((info.context or {}).get("catalogs", names))
    for each in names:
        if each not in known:
            near = spelled_alike(each, known, f"known are {', '.join(known)}")
            raise ValueError(f"catalog '{each}' is unknown{near}")
    return names


def _options(options: object, info: ValidationInfo) -> dict[str, str]:
    """Check options one by one, so that each problem has its line, then all together."""
    if not isinstance(options, Mapping):
        raise ValueError("it is not a mapping of options")
    if info.context is None:  # not a policy's, but settings of a pass
        return {name: option_text(name, value) for name, value in options.items()}
    # workload-share needs a workload, which may come from workload.from.
    beside = {"workload": ""} if info.data.get("workload", True) else {}
    problems = [((name,), why) for name, value in options.items() if (why := _fault(name, value, beside))]
    if problems:
        raise inside(problems)
    texts = {name: option_text(name, value) for name, value in options.items()}
    _check_options((*beside.items(), *texts.items()))
    return texts


def _fault(name: str, value: object, beside: Mapping[str, str]) -> str | None:
    """Return what is wrong with an option by itself."""
    if name not in KNOWN_OPTIONS:
        return f"is unknown{spelled_alike(name, KNOWN_OPTIONS, 'it is no option of rewrites')}"
    if name == "dry-run":
        return "is for a single call: no pass would write anything"
    if name in beside:
        return "conflicts with workload.from: set only one of them"
    if not isinstance(value, str | int | float):
        return "the value of an option is a text, a number, true or false"
    try:
        _check_options((*beside.items(), (name, option_text(name, value))))
    except InvalidInputError as error:
        return reason(error)
    return None


@lru_cache(maxsize=1_000)  # most rules and tables have the same few options
def _check_options(options: tuple[tuple[str, str], ...]) -> None:
    # An explicit memory limit avoids reading the machine's.
    read = rewrite_options({MEMORY_LIMIT: str(SMALLEST_MEMORY_LIMIT), **dict(options)})
    for fault in domain_faults(read, read.target_file_size, read.min_file_size, read.max_file_size):
        raise InvalidInputError(fault)


def _catalog(raw: object, info: ValidationInfo) -> CatalogProperties:
    if not isinstance(raw, Mapping):
        raise ValueError("the value is not a mapping of PyIceberg's properties, or {}")
    return catalog_of(raw, (info.context or {}).get("environment", {}))


UNSET = _Unset()
_LISTED = BeforeValidator(_listed, json_schema_input_type=str | list[str])

Flag = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Text, ...], _LISTED]
Catalogs = Annotated[Names, AfterValidator(_known)]
SortOrder = Annotated[Annotated[str, PlainValidator(_sort_order, json_schema_input_type=str | list[str])] | None, UNSET]
Branch = Annotated[Text | None, UNSET]
Condition = Annotated[Annotated[Text, _checked(_check_condition)] | None, UNSET]
QueryFormat = Annotated[Format | None, UNSET]
Dialect = Annotated[Annotated[Text, _checked(dialect_of)] | None, UNSET]
Readers = Annotated[Names, AfterValidator(check_readers)]
Days = Annotated[float, Field(strict=True, ge=0, le=36_500), BeforeValidator(lambda value: value or 0)]
Ratio = Annotated[Annotated[float, Field(strict=True, ge=1)] | None, UNSET]
Count = Annotated[Annotated[int, Field(strict=True, ge=1)] | None, UNSET]
Size = Annotated[Annotated[int, _measured(size)] | None, UNSET]
Duration = Annotated[timedelta, _measured(duration)]
Interval = Annotated[Duration | None, UNSET]
OrphanAge = Annotated[Duration, AfterValidator(_old_enough)]
Minutes = Annotated[Annotated[float, Field(strict=True, gt=0, le=525_600)] | None, UNSET]
Cron = Annotated[Annotated[Text, _checked(check_cron)] | None, UNSET]
Hours = Annotated[
    HourRange,
    PlainValidator(
        lambda value: value if isinstance(value, HourRange) else HourRange.parse(str(value)),
        json_schema_input_type=str,
    ),
]
AllowedHours = Annotated[Annotated[tuple[Hours, ...], _LISTED] | None, UNSET]
Options = Annotated[
    dict[str, str], PlainValidator(_options, json_schema_input_type=dict[str, bool | int | float | str])
]
Catalog = Annotated[CatalogProperties, PlainValidator(_catalog, json_schema_input_type=dict[str, str | dict[str, Any]])]
