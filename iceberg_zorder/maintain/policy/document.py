"""Read YAML with the line of every value, and keep as text what YAML 1.1 would take for another type.

Keys are texts as written, so that ``on`` is no boolean, and no key stands twice in a mapping. Dates, times of day, and
numbers that are none are texts, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.problems import Path, Problems

_TAG = "tag:yaml.org,2002:"
_DEEPEST = 12
_MOST_VALUES = 100_000
_LARGEST = 2**63
_AS_WRITTEN = "catalogs"
"""The section whose values are texts as written: PyIceberg's properties are."""


_TEXTS = {"str", "timestamp", "merge", "value"}
_KINDS = {
    yaml.MappingNode: {"map"},
    yaml.SequenceNode: {"seq"},
    yaml.ScalarNode: {*_TEXTS, "null", "bool", "int", "float"},
}


@dataclass(frozen=True)
class Document:
    """What a YAML file says."""

    value: object
    """Dictionaries with texts as keys, lists, texts, numbers, booleans and None."""
    lines: dict[Path, int]
    """The line of each value, from 1 on; that of its key, if it has one."""
    problems: Problems
    """Where what is wrong with it is noted."""


def read_document(text: str, name: str) -> Document:
    r"""Read one document of YAML.

    Examples
    --------
    >>> found = read_document("tables:\n  db.t: {enabled: on}\n  on: {}\n", "policy.yaml")
    >>> found.value, found.lines["tables", "db.t", "enabled"]
    ({'tables': {'db.t': {'enabled': True}, 'on': {}}}, 2)
    """
    loader = yaml.SafeLoader("")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        why = " ".join(filter(None, (error.context, error.problem)))
        # The library's own message has the line with it, which may hold a password.
        raise InvalidInputError(f"Cannot use {name}, because {place}it is no YAML: {why}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidInputError(f"Cannot use {name}, because line {line}: it is no YAML: {error.reason}") from None
    except RecursionError:
        raise InvalidInputError(f"Cannot use {name}, because it is nested too deeply") from None
    if node is None:
        raise InvalidInputError(f"Cannot use {name}, because it is empty")
    lines: dict[Path, int] = {}
    problems = Problems(name, lines)
    return Document(_Values(loader, lines, problems).of(node, ()), lines, problems)


class _Values:
    """Turns nodes into values, and notes their lines."""

    def __init__(self, loader: yaml.SafeLoader, lines: dict[Path, int], problems: Problems) -> None:
        self._loader = loader
        self._lines = lines
        self._problems = problems

    def of(self, node: yaml.Node, path: Path) -> object:
        """Read a node; an alias is read again at each place where it stands."""
        self._lines.setdefault(path, node.start_mark.line + 1)
        if len(self._lines) > _MOST_VALUES:
            self._problems.add((), f"it has more than {_MOST_VALUES:,} values")
            self._problems.raise_any()
        if len(path) > _DEEPEST:
            self._problems.add(path[:3], "is nested too deeply")
            return None
        try:
            return self._value(node, path)
        except yaml.constructor.ConstructorError as error:
            self._problems.add(path, f"it is no YAML: {error.problem}")
            return None

    def _value(self, node: yaml.Node, path: Path) -> object:
        kind = node.tag.removeprefix(_TAG)
        if kind not in _KINDS[type(node)]:
            self._problems.add(path, f"is tagged {node.tag}: write plain values, mappings and lists")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.of(each, (*path, place)) for place, each in enumerate(node.value)]
        if kind == "null":
            return None
        if kind in _TEXTS or path[:1] == (_AS_WRITTEN,):
            return str(node.value)
        try:
            value: object = self._loader.construct_object(node)
        except (ValueError, KeyError):
            return str(node.value)  # which is told to be none of what is expected
        return value if _is_plain(value, node.value) else str(node.value)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        own: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._problems.add(path, "has a key that is no text")
                return {}
            line = key.start_mark.line + 1
            if key.value in own:
                self._problems.add((*path, key.value), f"stands in line {own[key.value]} already")
            elif key.tag != f"{_TAG}merge":
                own[key.value] = line
        # Keys that <<: takes over come first, so that those of the mapping itself win.
        self._loader.flatten_mapping(node)
        found: dict[str, object] = {}
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                inside = (*path, str(key.value))
                self._lines[inside] = key.start_mark.line + 1
                found[str(key.value)] = self.of(value, inside)
        return found


def _is_plain(value: object, written: str) -> bool:
    """Tell whether a value is what people mean: of YAML 1.1, 22:00 is the number 1320."""
    if isinstance(value, bool):
        return True
    is_number = isinstance(value, int | float) and abs(value) < _LARGEST
    return is_number and ":" not in written
