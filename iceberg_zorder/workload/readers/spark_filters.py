"""Filters as Iceberg's scans write them into plans of Spark: names and texts without escapes, moments as numbers."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.predicate import And, Constant, IsNan, IsNull, Name, Not, Or, Predicate, StartsWith
from iceberg_zorder.request.predicate_values import Value, number
from iceberg_zorder.workload.conditions.values.typed import typed_comparison
from iceberg_zorder.workload.normal_form import TRUE, any_of, normal_form
from iceberg_zorder.workload.scanned_table import ScannedTable

_EPOCH = datetime(1970, 1, 1)
_OPERATORS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_BARE = re.compile(r"[^\s,()]+")


class SparkFilters:
    r"""Reads the filters of scans of a table.

    Parameters
    ----------
    table : ScannedTable
        The table, whose columns tell where names end, and what numbers mean.

    Examples
    --------
    >>> table = ScannedTable(("db", "t"), {("a b",): "date", ("s",): "string"})
    >>> from iceberg_zorder.workload.predicate_text import predicate_text
    >>> found = SparkFilters(table).read("a b IS NOT NULL, (a b >= 19732 OR s IN ('it's', 'x')), NOT (s LIKE 'y%')")
    >>> predicate_text(found)
    "`a b` IS NOT NULL AND (`a b` >= DATE '2024-01-10' OR s IN ('it\\'s', 'x')) AND s NOT LIKE 'y%'"
    """

    def __init__(self, table: ScannedTable) -> None:
        self._columns = {".".join(name): (name, kind) for name, kind in table.columns.items()}
        names = "|".join(re.escape(name) for name in sorted(self._columns, key=len, reverse=True))
        operator = r"(?:=|!=|<=|>=|<|>|IS |NOT IN |IN |LIKE |NOT LIKE |is_nan|not_nan)"
        part = rf"(?:\(|NOT \(|(?:{names}) {operator}|is_nan\(|not_nan\(|true|false)" if names else r"(?!)"
        self.name = re.compile(rf"({names})(?= {operator})") if names else re.compile(r"(?!)")
        # A quote ends a text where the filter goes on after it; inside the text it has no escape.
        self.end_inside = re.compile(rf"'(?=\)+$|\)+, {part}|\)* (?:AND|OR) {part})")
        self.end = re.compile(rf"'(?=$|, {part})")
        self.end_in_list = re.compile(r"'(?=, '|\))")

    def read(self, text: str) -> Predicate:
        """Read the filters of a scan, separated by commas."""
        if not text:
            return TRUE
        reader = _Reader(text, self)
        try:
            parts = [reader.expression()]
            while reader.take(", "):
                parts.append(reader.expression())
        except RecursionError as error:
            raise InvalidInputError("it is nested too deeply") from error
        if reader.rest:
            raise InvalidInputError(f"it goes on with {reader.rest[:40]}")
        return normal_form(And(tuple(parts)))

    def column(self, name: str) -> tuple[Name, str]:
        """Find a column by its whole name."""
        found = self._columns.get(name)
        if found is None:
            raise InvalidInputError(f"there is no column {name}")
        return found


class _Reader:
    """Reads from left to right."""

    def __init__(self, text: str, filters: SparkFilters) -> None:
        self._text = text
        self._filters = filters
        self._place = 0
        self._depth = 0

    @property
    def _end(self) -> re.Pattern[str]:
        return self._filters.end_inside if self._depth else self._filters.end

    @property
    def rest(self) -> str:
        return self._text[self._place :]

    def take(self, word: str) -> bool:
        found = self._text.startswith(word, self._place)
        self._place += len(word) * found
        return found

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self._text, self._place)
        if found is None:
            return None
        self._place = found.end()
        return found[0]

    def expression(self) -> Predicate:
        if self.take("NOT ("):
            self._depth += 1
            return Not(self._closed(self.expression()))
        if self.take("("):
            self._depth += 1
            left = self.expression()
            if self.take(" AND "):
                return self._closed(And((left, self.expression())))
            if self.take(" OR "):
                return self._closed(Or((left, self.expression())))
            return self._closed(left)
        for word, value in (("true", True), ("false", False)):
            if self.take(word):
                return Constant(value)
        return self._condition()

    def _closed(self, inner: Predicate) -> Predicate:
        if not self.take(")"):
            raise InvalidInputError(f"a parenthesis is missing before {self.rest[:40] or 'its end'}")
        self._depth -= 1
        return inner

    def _condition(self) -> Predicate:
        for word in ("is_nan(", "not_nan("):
            if self.take(word):
                name, _ = self._filters.column(self._until(")"))
                return IsNan(name) if word == "is_nan(" else Not(IsNan(name))
        return self._of_column()

    def _of_column(self) -> Predicate:
        found = self._match(self._filters.name)
        if found is None:
            raise InvalidInputError(f"{self.rest[:40]} is no condition on a column that is known")
        name, kind = self._filters.column(found)
        if self.take(" IS NOT NULL"):
            return Not(IsNull(name))
        if self.take(" IS NULL"):
            return IsNull(name)
        for word, negated in ((" NOT IN (", True), (" IN (", False)):
            if self.take(word):
                values = self._list(kind)
                predicate = any_of(typed_comparison(name, kind, "=", value) for value in values)
                return Not(predicate) if negated else predicate
        for word, negated in ((" NOT LIKE '", True), (" LIKE '", False)):
            if self.take(word):
                prefix = self._quoted(self._end)
                if not prefix.endswith("%"):
                    raise InvalidInputError(f"LIKE '{prefix}' is no beginning")
                found_prefix: Predicate = StartsWith(name, prefix[:-1]) if prefix != "%" else Not(IsNull(name))
                return Not(found_prefix) if negated else found_prefix
        return self._comparison(name, kind)

    def _comparison(self, name: Name, kind: str) -> Predicate:
        for word in sorted(_OPERATORS, key=len, reverse=True):
            if self.take(f" {word} "):
                value = self._value(kind, self._end)
                if isinstance(value.content, float) and value.content != value.content:
                    return IsNan(name) if word == "=" else Not(IsNan(name))
                return typed_comparison(name, kind, _OPERATORS[word], value)
        raise InvalidInputError(f"{self.rest[:40].strip()} is no comparison that is known")

    def _list(self, kind: str) -> list[Value]:
        values = [self._value(kind, self._filters.end_in_list)]
        while self.take(", "):
            values.append(self._value(kind, self._filters.end_in_list))
        if not self.take(")"):
            raise InvalidInputError(f"a list does not end before {self.rest[:40] or 'its end'}")
        return values

    def _value(self, kind: str, end: re.Pattern[str]) -> Value:
        if self.take("X'"):
            return Value("binary", bytes.fromhex(self._until("'")))
        if self.take("'"):
            return Value("string", self._quoted(end))
        return _bare_value(self._match(_BARE) or "", kind)

    def _quoted(self, end: re.Pattern[str]) -> str:
        found = end.search(self._text, self._place)
        if found is None:
            raise InvalidInputError(f"a text does not end: '{self.rest[:40]}")
        text = self._text[self._place : found.start()]
        self._place = found.end()
        return text

    def _until(self, word: str) -> str:
        text, found, _ = self.rest.partition(word)
        if not found:
            raise InvalidInputError(f"{word} is missing after {text[:40]}")
        self._place += len(text) + len(word)
        return text


def _bare_value(text: str, kind: str) -> Value:
    """Read a value without quotes: days of a date, microseconds of a timestamp, numbers, TRUE and FALSE."""
    if text in ("true", "false"):
        return Value("boolean", text == "true")
    if text in ("NaN", "Infinity", "-Infinity"):
        return Value("double", float(text.replace("Infinity", "inf")))
    try:
        if kind == "date":
            return Value("date", date(1970, 1, 1) + timedelta(days=int(text)))
        if kind in ("timestamp", "timestamptz"):
            moment = _EPOCH + timedelta(microseconds=int(text))
            return (
                Value("timestamp", moment.replace(tzinfo=timezone.utc))
                if kind == "timestamptz"
                else Value("timestamp_ntz", moment)
            )
        return number(text)
    except (ValueError, OverflowError, InvalidInputError) as error:
        raise InvalidInputError(f"{text or 'nothing'} is no value of type {kind}") from error
