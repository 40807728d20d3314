"""Text of Spark SQL: literals, identifiers and procedure calls that mean exactly the given values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from iceberg_zorder.layout.columns import quoted_identifier, quoted_text

# A dollar before a brace is split off: Spark would put the value of a variable in the place of ${...}.
_NEEDS_CHR = re.compile(r"['\\]|\$(?=\{)")


def string_literal(text: str, *, escaped_string_literals: bool = False) -> str:
    r"""Write a text as an expression of Spark SQL that has this value.

    Examples
    --------
    >>> print(string_literal("name = 'O\\Neil'"))
    'name = \'O\\Neil\''
    >>> print(string_literal("it's", escaped_string_literals=True))
    concat('it', chr(39), 's')
    """
    if not escaped_string_literals:
        return quoted_text(text)
    pieces = []
    start = 0
    for match in _NEEDS_CHR.finditer(text):
        if match.start() > start:
            pieces.append(f"'{text[start : match.start()]}'")
        pieces.append(f"chr({ord(match.group())})")
        start = match.end()
    if start < len(text) or not pieces:
        pieces.append(f"'{text[start:]}'")
    return pieces[0] if len(pieces) == 1 else f"concat({', '.join(pieces)})"


def procedure_call(catalog: str, procedure: str, arguments: Mapping[str, str]) -> str:
    """Write a CALL with named arguments.

    Examples
    --------
    >>> procedure_call("lake", "zorder_plan", {"table": "'db.t'"})
    "CALL `lake`.system.zorder_plan(table => 'db.t')"
    """
    named = ", ".join(f"{name} => {expression}" for name, expression in arguments.items())
    return f"CALL {quoted_identifier(catalog)}.system.{procedure}({named})"
