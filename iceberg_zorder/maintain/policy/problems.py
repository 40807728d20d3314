"""The problems of a policy, with line and field, reported together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from iceberg_zorder.errors import InvalidInputError

Path = tuple[str | int, ...]
"""Path of a value: keys of mappings and indices of lists."""
Problem = tuple[Path, str]

_MOST = 10


def reason(error: object) -> str:
    """Return the reason of an error, without its leading "Cannot X, because"."""
    text = str(error)
    return f"cannot{text.removeprefix('Cannot')}" if text.startswith("Cannot ") else text


def inside(problems: Iterable[Problem]) -> ValidationError:
    """Return an error for a validator of pydantic: problems of values inside the validated one."""
    return ValidationError.from_exception_data(
        "",
        [
            InitErrorDetails(type=PydanticCustomError("value_error", "{error}", {"error": text}), loc=path, input=None)
            for path, text in problems
        ],
    )


def refusal(
    name: str, problems: Iterable[Problem], lines: Mapping[Path, int] = MappingProxyType({})
) -> InvalidInputError:
    """Return an error with up to ten problems; ``lines`` has the line of each value, from 1.

    Examples
    --------
    >>> refusal("policy.yaml", [(("interval",), "'soon' is not a duration")], {("interval",): 3})
    InvalidInputError("Cannot use policy.yaml, because line 3, interval: 'soon' is not a duration")
    """
    ranks = {path: rank for rank, path in enumerate(lines)}

    def line(path: Path) -> int:
        ends = range(len(path), -1, -1)
        return next((lines[path[:end]] for end in ends if path[:end] in lines), 0)

    def told(path: Path, text: str) -> str:
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
        places = ", ".join(filter(None, [f"line {line(path)}" if line(path) else "", field]))
        return f"{places}: {text}" if places else text

    in_order = sorted(set(problems), key=lambda each: (line(each[0]), ranks.get(each[0], 0), str(each)))
    found = [told(*each) for each in in_order]
    if len(found) == 1:
        return InvalidInputError(f"Cannot use {name}, because {found[0]}")
    more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
    listed = "".join(f"\n- {each}" for each in [*found[:_MOST], *more])
    return InvalidInputError(f"Cannot use {name}, because of {len(found)} problems:{listed}")
