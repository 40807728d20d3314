r"""Escape control characters in text for terminals and browsers; ``Printable.java`` does the same.

Names and values of tables may hold any character. Control characters, direction overrides and line separators are
written as escapes. JSON output keeps every character, with JSON's own escapes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BYTE = 0xFF


def printable(text: str) -> str:
    r"""Escape control characters, including line ends.

    Examples
    --------
    >>> print(printable("a\x1b[31mred, \u202e, two\nlines, größe 😀"))
    a\x1b[31mred, \u202e, two\x0alines, größe 😀
    """
    return _OBEYED.sub(_escape, text)


def printable_lines(text: str) -> str:
    r"""Escape control characters except line ends.

    Examples
    --------
    >>> print(printable_lines("one\x00\ntwo"))
    one\x00
    two
    """
    return "\n".join(map(printable, text.split("\n")))


def all_printable(value: Any) -> Any:
    r"""Escape control characters in all texts and keys of a JSON value.

    Examples
    --------
    >>> all_printable({"a\t": ["\r", 1, None, {"b": "\x7f"}]})
    {'a\\x09': ['\\x0d', 1, None, {'b': '\\x7f'}]}
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {all_printable(key): all_printable(each) for key, each in value.items()}
    return [all_printable(each) for each in value] if isinstance(value, Sequence) else value


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= _BYTE else f"\\u{code:04x}"
