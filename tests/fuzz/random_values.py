"""Random schemas, partition fields and values: every type of format version 2, and the values that are easily got wrong."""

import itertools
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.fuzz.model import Row
from tests.fuzz.transforms import applicable
from tests.fuzz.types import Field, Leaf, List, Map, Struct, Type, decimal_of, identity, length_of

_YEAR_1, _YEAR_9999 = -719_162, 2_932_896  # days
_DAY = 86_400_000_000
_PREFIX = "https://example.com/a/long/common/prefix/"
_TEXTS = (
    "",
    "a",
    "b",
    "zzz",
    "É",
    "\uffff",
    "\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff\ud7ff",
    "\U0001f600",
    "\U0001f600" * 17,
    "\U0010ffff" * 20,
    "a" * 15 + "\U0010ffff" * 3,
    "a" * 15 + "\uffff\uffff",
    "nul\x00",
    "nul\x00\x00",
    'it\'s "quoted" \\ `so` / = %41',
    _PREFIX,
    _PREFIX + "1",
    _PREFIX + "2",
)
_BLOBS = (
    b"",
    b"\x00",
    b"\x00\x00",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff" * 20,
    b"a" * 16 + b"\xff",
    b"\xff" * 15 + b"a" * 9,
)
_NUMBERS = (float("nan"), -0.0, 0.0, float("inf"), float("-inf"), 1.5, -1.5, 5e-324, 1e300, 100.0)


_TYPES = (
    *("boolean", "int", "int", "long", "long", "float", "double", "double", "decimal", "date", "time"),
    *("timestamp", "timestamptz", "string", "string", "string", "uuid", "fixed", "binary"),
)


def draw_type(rng: random.Random, without: frozenset[str] = frozenset()) -> str:
    """Draw a primitive type."""
    of = rng.choice([each for each in _TYPES if each not in without])
    if of == "decimal":
        precision = rng.choice([1, 4, 9, 10, 18, 19, 28, 38])
        return f"decimal({precision},{rng.randint(0, min(precision, 12))})"
    return f"fixed[{rng.choice([1, 4, 16, 20])}]" if of == "fixed" else of


def draw_nested(rng: random.Random, without: frozenset[str], depth: int = 0) -> Type:
    """Draw a type that may be a struct, list or map; ids are given when the table is made."""
    if depth == 2 or rng.random() < (0.75 if depth == 0 else 0.6):
        return draw_type(rng, without)
    kind = rng.choice(["struct", "struct", "list", "map"])
    if kind == "struct":
        names = rng.sample(["x", "y", "Z", "w w"], rng.randint(1, 3))
        return Struct(tuple(Field(0, name, draw_nested(rng, without, depth + 1), rng.random() < 0.1) for name in names))
    if kind == "list":
        return List(Field(0, "element", draw_nested(rng, without, depth + 1)))
    key = rng.choice(["string", "int", "long", "date"])
    return Map(Field(0, "key", key, True), Field(0, "value", draw_nested(rng, without, depth + 1)))


def draw_schema(rng: random.Random, without: frozenset[str] = frozenset()) -> Struct:
    """Draw a table's columns; there is always one of whole numbers to cluster by."""
    columns = [Field(0, "id", rng.choice(["int", "long"]), rng.random() < 0.1)]
    names = ["a", "B", "c c", "d.d", "é", "f-1", "g", "file_path", "pos", "_k", "1x"]
    chosen = rng.sample(names, rng.randint(1, 6))
    columns += [Field(0, name, draw_nested(rng, without), rng.random() < 0.1) for name in chosen]
    rng.shuffle(columns)
    return Struct(_numbered(columns, itertools.count(1)))


def _numbered(fields: Sequence[Field], counter: Iterator[int]) -> tuple[Field, ...]:
    """Give fields their ids, those of a struct before those inside them."""
    ids = [next(counter) for _ in fields]
    found = []
    for own, each in zip(ids, fields, strict=True):
        kind = each.type
        if isinstance(kind, Struct):
            kind = Struct(_numbered(kind.fields, counter))
        elif isinstance(kind, List):
            kind = List(*_numbered([kind.element], counter))
        elif isinstance(kind, Map):
            kind = Map(*_numbered([kind.key, kind.value], counter))
        found.append(Field(own, each.name, kind, each.required))
    return tuple(found)


def draw_transform(rng: random.Random, of: str) -> str:
    """Draw a partition transform of a type."""
    name = rng.choice([*applicable(of), "identity"])
    if name == "truncate" and of.startswith("decimal") and decimal_of(of)[0] < 3:
        return "truncate[1]"
    if name == "bucket":
        return f"bucket[{rng.choice([1, 2, 3, 16])}]"
    return f"truncate[{rng.choice([1, 2, 10, 100])}]" if name == "truncate" else name


@dataclass
class Values:
    """Draws values from small pools, one for each field, so that values come again and deletes find rows."""

    rng: random.Random
    long_texts: float = 0.1
    _pools: dict[int, list[Any]] = field(default_factory=dict)
    _rows: int = 0

    def rows(self, schema: Struct, count: int) -> list[Row]:
        """Draw the rows of a file or two: of each field some of its values only, so that bounds differ."""
        draws = [self._draw(each) for each in schema.fields]
        return [tuple(draw() for draw in draws) for _ in range(count)]

    def value(self, leaf: Leaf) -> Any:
        """Draw a value of a primitive field, never NULL."""
        return self.rng.choice(self._pool(leaf.field))

    def _draw(self, of: Field) -> Callable[[], Any]:
        rng = self.rng
        nulls = 0.0 if of.required else rng.choice([0.0, 0.0, 0.1, 0.4, 1.0])
        if isinstance(of.type, Struct):
            parts = [self._draw(each) for each in of.type.fields]
            return lambda: None if rng.random() < nulls else tuple(part() for part in parts)
        if isinstance(of.type, List):
            element = self._draw(of.type.element)
            return lambda: None if rng.random() < nulls else tuple(element() for _ in range(rng.choice([0, 1, 3])))
        if isinstance(of.type, Map):
            keys, value = self._pool(of.type.key), self._draw(of.type.value)
            distinct = list(dict.fromkeys(keys))
            return lambda: (
                None
                if rng.random() < nulls
                else tuple((key, value()) for key in rng.sample(distinct, min(len(distinct), rng.randint(0, 2))))
            )
        if of.name == "id" and rng.random() < 0.7:
            return self._next_number
        pool = self._pool(of)
        some = rng.sample(pool, rng.randint(1, len(pool))) if rng.random() < 0.6 else pool
        return lambda: None if rng.random() < nulls else rng.choice(some)

    def _next_number(self) -> int:
        self._rows += 1
        return self._rows

    def _pool(self, of: Field) -> list[Any]:
        if of.id not in self._pools:
            assert isinstance(of.type, str)
            self._pools[of.id] = self._fresh(of.type, self.rng.choice([1, 3, 8, 40]))
        return self._pools[of.id]

    def longest(self, leaf: Leaf) -> int:
        """The length of the longest value of a text or binary field."""
        return max(map(len, self._pool(leaf.field)))

    def is_constant(self, leaf: Leaf) -> bool:
        """Whether a field has one value, or is NULL."""
        return len({identity(value) for value in self._pools.get(leaf.id, [0, 1])}) == 1

    def widen(self, leaf: Leaf, to: str) -> None:
        """Add values of the type that a field is promoted to."""
        self._pools.setdefault(leaf.id, []).extend(self._fresh(to, 5))

    def _fresh(self, of: str, count: int) -> list[Any]:
        return [self._one(of) for _ in range(count)]

    def _one(self, of: str) -> Any:
        rng = self.rng
        if of == "boolean":
            return rng.random() < 0.5
        if of in ("int", "long"):
            bits = 31 if of == "int" else 63
            edges = [0, -1, (1 << bits) - 1, -1 << bits]
            return rng.choice(edges) if rng.random() < 0.15 else rng.randint(-50, 50) * rng.choice([1, 1, 1000])
        if of in ("float", "double"):
            number = rng.choice(_NUMBERS) if rng.random() < 0.6 else rng.uniform(-1000, 1000)
            return _single(number) if of == "float" else number
        if of.startswith("decimal"):
            precision, scale = decimal_of(of)
            most = 10**precision - 1
            # What is truncated must have no more digits.
            least = -max(9, 10**precision - 100)
            return Decimal(f"{rng.choice([0, -1, 1, most, least, rng.randint(least, most)])}E-{scale}")
        if of == "date":
            edges = [0, -1, _YEAR_1, _YEAR_9999]
            return rng.choice(edges) if rng.random() < 0.1 else rng.randint(-700, 700)
        if of == "time":
            return rng.choice([0, _DAY - 1, rng.randrange(_DAY)])
        if of in ("timestamp", "timestamptz"):
            edges = [0, -1, _YEAR_1 * _DAY, (_YEAR_9999 + 1) * _DAY - 1]
            return rng.choice(edges) if rng.random() < 0.1 else rng.randint(-3 * 10**15, 3 * 10**15)
        return self._text() if of == "string" else self._bytes(of)

    def _text(self) -> str:
        rng = self.rng
        if rng.random() < self.long_texts:
            return rng.choice("azé\U0001f600") * rng.choice([4095, 4096, 4097, 5000])
        if rng.random() < 0.5:
            return rng.choice(_TEXTS)
        return rng.choice(["", "k", _PREFIX]) + str(rng.randint(0, 30))

    def _bytes(self, of: str) -> bytes:
        rng = self.rng
        if of == "binary":
            return rng.choice(_BLOBS) if rng.random() < 0.7 else rng.randbytes(rng.choice([1, 30, 5000]))
        length = 16 if of == "uuid" else length_of(of)
        return rng.choice([b"\x00" * length, b"\xff" * length, rng.randbytes(length), rng.randbytes(length)])


def _single(number: float) -> float:
    """The nearest number of 32 bits."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return float("inf")
