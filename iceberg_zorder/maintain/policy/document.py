"""Read YAML with the line of every value, and without the surprising types of YAML 1.1.

Keys are texts as written, so ``on`` is not a boolean; duplicate keys are refused. Dates and sexagesimal numbers such as
22:00 are texts, too.
"""

from __future__ import annotations

import yaml

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.problems import Path, refusal

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


def read_document(text: str, name: str) -> tuple[object, dict[Path, int]]:
    r"""Return the content of a YAML document, and the line of each value from 1: of its key, if it has one.

    Raises InvalidInputError for the first fault.

    Examples
    --------
    >>> found, lines = read_document("tables:\n  db.t: {enabled: on}\n  on: {}\n", "policy.yaml")
    >>> found, lines["tables", "db.t", "enabled"]
    ({'tables': {'db.t': {'enabled': True}, 'on': {}}}, 2)
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        # PyYAML's message quotes the line, which may hold a password.
        why = f"{place}it is not valid YAML: {' '.join(filter(None, (error.context, error.problem)))}"
    except yaml.reader.ReaderError as error:
        why = f"line {text.count(chr(10), 0, error.position) + 1}: it is not valid YAML: {error.reason}"
    except RecursionError:
        why = "it is nested too deeply"
    else:
        why = "it is empty"
        if node is not None:
            values = _Values(name)
            return values.of(node, ()), values.lines
    raise InvalidInputError(f"Cannot use {name}, because {why}")


class _Values:
    """Converts nodes into values, and records their lines."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loader = yaml.SafeLoader("")
        self.lines: dict[Path, int] = {}

    def _refused(self, path: Path, why: str) -> InvalidInputError:
        return refusal(self._name, [(path, why)], self.lines)

    def of(self, node: yaml.Node, path: Path) -> object:
        """Convert a node; an alias is converted again wherever it is used."""
        self.lines.setdefault(path, node.start_mark.line + 1)
        if len(self.lines) > _MOST_VALUES:
            raise self._refused((), f"it has more than {_MOST_VALUES:,} values")
        if len(path) > _DEEPEST:
            raise self._refused(path[:3], "is nested too deeply")
        kind = node.tag.removeprefix(_TAG)
        if kind not in _KINDS[type(node)]:
            raise self._refused(path, f"is tagged {node.tag}: write plain values, mappings and lists")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.of(each, (*path, place)) for place, each in enumerate(node.value)]
        return self._scalar(node, kind, path)

    def _scalar(self, node: yaml.Node, kind: str, path: Path) -> object:
        if kind == "null":
            return None
        if kind in _TEXTS or path[:1] == (_AS_WRITTEN,):
            return str(node.value)
        try:
            value: object = self._loader.construct_object(node)
        except (ValueError, KeyError, yaml.constructor.ConstructorError):
            return str(node.value)  # validation then reports the wrong type
        if isinstance(value, bool):
            return value
        # In YAML 1.1, 22:00 is the number 1320.
        if not isinstance(value, int | float) or not abs(value) < _LARGEST or ":" in node.value:
            return str(node.value)
        return int(value) if value == int(value) else value

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        own: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._refused(path, "has a key that is not text")
            inside, line = (*path, key.value), key.start_mark.line + 1
            if key.value in own:
                self.lines[inside] = line
                raise self._refused(inside, f"is a duplicate of line {own[key.value]}")
            if key.tag != f"{_TAG}merge":
                own[key.value] = line
        try:
            # Merged keys (<<:) come first, so that the mapping's own keys win.
            self._loader.flatten_mapping(node)
        except yaml.constructor.ConstructorError as error:
            raise self._refused(path, f"it is not valid YAML: {error.problem}") from None
        found: dict[str, object] = {}
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                inside = (*path, key.value)
                self.lines[inside] = key.start_mark.line + 1
                found[key.value] = self.of(value, inside)
        return found
