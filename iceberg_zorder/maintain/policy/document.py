"""Read YAML with the line of every value, and without the surprising types of YAML 1.1.

Keys are texts as written, so ``on`` is not a boolean; duplicate keys are refused. Dates and sexagesimal numbers such as
22:00 are texts, too.
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
"""The section whose values stay texts, as PyIceberg's properties are."""


_TEXTS = {"str", "timestamp", "merge", "value"}
_KINDS = {
    yaml.MappingNode: {"map"},
    yaml.SequenceNode: {"seq"},
    yaml.ScalarNode: {*_TEXTS, "null", "bool", "int", "float"},
}


@dataclass(frozen=True)
class Document:
    """The content of a YAML file."""

    value: object
    """Dictionaries with texts as keys, lists, texts, numbers, booleans and None."""
    lines: dict[Path, int]
    """Line of each value, from 1; the line of its key, if it has one."""
    problems: Problems
    """Collects the document's problems."""


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
        # PyYAML's message quotes the line, which may hold a password.
        raise InvalidInputError(f"Cannot use {name}, because {place}it is not valid YAML: {why}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidInputError(
            f"Cannot use {name}, because line {line}: it is not valid YAML: {error.reason}"
        ) from None
    except RecursionError:
        raise InvalidInputError(f"Cannot use {name}, because it is nested too deeply") from None
    if node is None:
        raise InvalidInputError(f"Cannot use {name}, because it is empty")
    lines: dict[Path, int] = {}
    problems = Problems(name, lines)
    return Document(_Values(loader, lines, problems).of(node, ()), lines, problems)


class _Values:
    """Converts nodes into values, and records their lines."""

    def __init__(self, loader: yaml.SafeLoader, lines: dict[Path, int], problems: Problems) -> None:
        self._loader = loader
        self._lines = lines
        self._problems = problems

    def of(self, node: yaml.Node, path: Path) -> object:
        """Convert a node; an alias is converted again wherever it is used."""
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
            self._problems.add(path, f"it is not valid YAML: {error.problem}")
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
            return str(node.value)  # validation then reports the wrong type
        return value if _is_plain(value, node.value) else str(node.value)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        own: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._problems.add(path, "has a key that is not text")
                return {}
            line = key.start_mark.line + 1
            if key.value in own:
                self._problems.add((*path, key.value), f"is a duplicate of line {own[key.value]}")
            elif key.tag != f"{_TAG}merge":
                own[key.value] = line
        # Merged keys (<<:) come first, so that the mapping's own keys win.
        self._loader.flatten_mapping(node)
        found: dict[str, object] = {}
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                inside = (*path, str(key.value))
                self._lines[inside] = key.start_mark.line + 1
                found[str(key.value)] = self.of(value, inside)
        return found


def _is_plain(value: object, written: str) -> bool:
    """Return whether a value is as written; in YAML 1.1, 22:00 is the number 1320."""
    if isinstance(value, bool):
        return True
    is_number = isinstance(value, int | float) and abs(value) < _LARGEST
    return is_number and ":" not in written
