"""The golden cases of the metrics check: keys of columns, by file group, and what is kept of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from iceberg_zorder.request.metrics_check import KeyPool, separation


@dataclass(frozen=True)
class MetricsCase:
    """A column."""

    name: str
    type: str
    kept: int
    pools: tuple[KeyPool, ...]


def metrics_document(case: MetricsCase) -> dict[str, Any]:
    """A column, and what must come of it."""
    found = separation(case.type, case.kept, case.pools)
    groups = [{"keys": [key.hex() for key in pool.keys], "alone": pool.alone} for pool in case.pools]
    return {
        "name": case.name,
        "type": case.type,
        "kept": case.kept,
        "groups": groups,
        "pairs": found.pairs,
        "separated": found.separated,
        "wanted": found.wanted,
    }


def metrics_cases() -> list[MetricsCase]:
    """Every case."""
    return [*_texts(), *_binaries(), *_lengths(), *_random()]


def _pool(keys: Iterable[str | bytes], *, alone: bool = False) -> KeyPool:
    return KeyPool(sorted({key.encode() if isinstance(key, str) else key for key in keys}), alone)


def _texts() -> Iterator[MetricsCase]:
    """Cases of text, by what is in it."""
    urls = [f"https://www.example.com/item/{number:06d}" for number in range(0, 3000, 31)]
    emoji = [f"{'😀' * 20}{chr(0x1F600 + number)}" for number in range(30)]
    combining = ["e" + "\u0301" * number for number in range(1, 41)]
    alone = KeyPool([], alone=True)
    cases: dict[str, tuple[int, tuple[KeyPool, ...]]] = {
        "no group": (16, ()),
        "no key": (16, (_pool([]), _pool([]))),
        "one key": (16, (_pool(["a" * 99]),)),
        "told apart": (16, (_pool(["", "a", "b", "ba", "c"]),)),
        "alike to the end": (16, (_pool(["a" * 40 + end for end in ("", "a", "b")]),)),
        "one that begins as the other does": (3, (_pool(["abc", "abcd"]), _pool(["abcd", "abcde"]), _pool(["ab", "abc"]))),
        "urls": (16, (_pool(urls),)),
        "urls of several groups": (16, (_pool(urls[:30]), _pool(urls[30:31]), _pool(urls[31:]), _pool([]))),
        "urls and what is told apart": (16, (_pool(urls[:20]), _pool(f"{number:04d}" for number in range(400)))),
        "beyond the BMP": (20, (_pool(emoji),)),
        "beyond the BMP, told apart": (21, (_pool(emoji),)),
        "at the end of the BMP": (1, (_pool(["\uffee", "\U0001f600", "\U0001f600\uffee", "\U0010ffff"]),)),
        "combining": (16, (_pool(combining),)),
        "two bytes": (4, (_pool(["ööööa", "ööööä", "öööö", "ööööö"]),)),
        "cut in a character": (2, (_pool(["a€".encode()[:3], "a€", "aé".encode()[:2], "aé", "a😀".encode()[:4]]),)),
        "alone": (16, (alone,)),
        "one of twenty is alone": (16, (*(_pool(["a", "b"]) for _ in range(19)), alone)),
        "one of nineteen is alone": (16, (*(_pool(["a", "b"]) for _ in range(18)), alone)),
        "none kept": (0, (_pool(urls),)),
        "none kept, short": (0, (_pool(["a", "b", "c"]),)),
        "none kept, no pair": (0, (_pool(["a"]), _pool([]))),
        "none kept, alone": (0, (_pool(["a", "b"]), alone)),
        "none kept, long": (0, (_pool(["a" * 300, "a" * 301]),)),
        "none kept, beyond the BMP": (0, (_pool(emoji),)),
    }  # fmt: skip
    yield from (MetricsCase(f"string: {name}", "string", kept, pools) for name, (kept, pools) in cases.items())


def _binaries() -> Iterator[MetricsCase]:
    """Cases of binaries, by what is in them."""
    cases: dict[str, tuple[int, tuple[KeyPool, ...]]] = {
        "no key": (16, (_pool([]),)),
        "0xff": (4, (_pool([b"\xff" * length for length in range(1, 9)]),)),
        "0xff then not": (4, (_pool([b"\xff\xff\xff\xff\xfe", b"\xff\xff\xff\xff\xff", b"\xff"]),)),
        "0x00": (2, (_pool([b"", b"\x00", b"\x00\x00", b"\x00\x00\x00", b"\x00\x00\x01"]),)),
        "bytes of a character": (2, (_pool(["€".encode(), "₭".encode(), "€€".encode(), "€₭".encode()]),)),
        "around 0x7f": (1, (_pool([b"\x7f", b"\x80", b"\x7f\xff", b"\x80\x00"]),)),
        "none kept": (0, (_pool([b"\xff" * 20 + bytes([number]) for number in range(256)]),)),
        "alone": (3, (KeyPool([], alone=True), _pool([b"a", b"b"]))),
    }
    yield from (MetricsCase(f"binary: {name}", "binary", kept, pools) for name, (kept, pools) in cases.items())


def _lengths() -> Iterator[MetricsCase]:
    """Cases at the ends of what is counted."""
    for common in (254, 255, 256, 257):
        pool = _pool(["x" * common + end for end in "ab"])
        for kept in (0, 16, 256):
            yield MetricsCase(f"{common} alike, {kept} kept", "string", kept, (pool,))
    short = [f"{number:02d}" for number in range(96)]
    for alike in (4, 5, 6):
        # Each of the long ones is the neighbour of the next, and of one short one.
        long = ["~" * 30 + chr(ord("a") + number) for number in range(alike + 1)]
        keys = [*short[: 100 - alike], *long]
        yield MetricsCase(f"{alike} of 100 are alike", "string", 16, (_pool(keys),))
    steps = ["a" * number + "b" for number in range(100)]
    for kept in (94, 95, 96):
        yield MetricsCase(f"one more for each, {kept} kept", "string", kept, (_pool(steps),))


def _random() -> Iterator[MetricsCase]:
    """Cases of chance, of beginnings that many have in common."""
    rng = random.Random(31)
    alphabet = "aé€😀"
    for number in range(24):
        type_name = rng.choice(["string", "binary"])
        pools = []
        for _ in range(rng.randrange(1, 5)):
            beginning = "".join(rng.choice(alphabet) for _ in range(rng.choice([0, 3, 10, 40])))
            values = (
                beginning + "".join(rng.choice(alphabet) for _ in range(rng.randrange(12)))
                for _ in range(rng.randrange(30))
            )
            pools.append(KeyPool([], alone=True) if rng.random() < 0.05 else _pool(values))
        yield MetricsCase(f"random {number}", type_name, rng.choice([0, 1, 5, 16, 40]), tuple(pools))
