"""The golden cases of the metrics check: keys of columns, by file group, and what is kept of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
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
    groups = [
        {"keys": [key.hex() for key in pool.keys], "rows": list(pool.rows), "unseen": pool.unseen}
        for pool in case.pools
    ]
    return {
        "name": case.name,
        "type": case.type,
        "kept": case.kept,
        "groups": groups,
        "rows": found.rows,
        "apart": found.apart,
        "wanted": found.wanted,
    }


def metrics_cases() -> list[MetricsCase]:
    """Every case."""
    return [*_texts(), *_binaries(), *_lengths(), *_rows(), *_random()]


def _pool(keys: Iterable[str | bytes]) -> KeyPool:
    """Buckets of one row."""
    return _counted(dict.fromkeys(keys, 1))


def _counted(rows: Mapping[str, int] | Mapping[bytes, int] | Mapping[str | bytes, int], unseen: int = 0) -> KeyPool:
    counted = {key.encode() if isinstance(key, str) else key: count for key, count in rows.items()}
    keys = sorted(counted)
    return KeyPool(keys, [counted[key] for key in keys], unseen)


def _texts() -> Iterator[MetricsCase]:
    """Cases of text, by what is in it."""
    urls = [f"https://www.example.com/item/{number:06d}" for number in range(0, 3000, 31)]
    emoji = [f"{'😀' * 20}{chr(0x1F600 + number)}" for number in range(30)]
    combining = ["e" + "\u0301" * number for number in range(1, 41)]
    unseen = _counted({"x" * 68: 1}, unseen=1)
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
        "unseen": (16, (unseen,)),
        "one of twenty is unseen": (16, (*(_pool(["a", "b"]) for _ in range(19)), unseen)),
        "one of nineteen is unseen": (16, (*(_pool(["a", "b"]) for _ in range(18)), unseen)),
        "none kept": (0, (_pool(urls),)),
        "none kept, short": (0, (_pool(["a", "b", "c"]),)),
        "none kept, no pair": (0, (_pool(["a"]), _pool([]))),
        "none kept, unseen": (0, (_pool(["a", "b"]), unseen)),
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
        "unseen": (3, (_counted({b"\xff" * 64: 3}, unseen=7), _pool([b"a", b"b"]))),
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


def _rows() -> Iterator[MetricsCase]:
    """Cases of buckets that hold more rows than others."""
    urls = [f"https://www.example.com/item/{number:02d}" for number in range(40)]
    rare = {f"{number:04d}": 1 for number in range(1000)}
    deep = {"abc1": 4, "abc2": 6, "abd1": 3, "abd2": 5, "b1": 10, "b2": 2, "c": 7}
    cases: dict[str, tuple[int, tuple[KeyPool, ...]]] = {
        "long ones of most rows": (16, (_counted({**dict.fromkeys(urls, 600), **rare}),)),
        "rare ones among long ones": (16, (_counted({**{url + end: 600 if end else 1 for url in urls for end in ("", "x")}, **rare}),)),
        "a default of most rows": (16, (_counted({**dict.fromkeys(urls, 1), "": 10_000}),)),
        "a default, and what is told apart": (16, (_counted({**rare, "": 10_000}),)),
        "a default that begins as few do": (16, (_counted({**rare, **dict.fromkeys(urls[:3], 5), urls[3]: 10_000}),)),
        "one bucket and many": (16, (_counted({"a": 10**6}), _counted(dict.fromkeys(urls, 2)))),
        "at 95%": (16, (_counted({"a": 40, "b": 19, "x" * 20: 1, "x" * 21: 1, "y": 0}),)),
        "below 95%": (16, (_counted({"a": 40, "b": 17, "x" * 20: 1, "x" * 21: 1}),)),
        "runs in runs, none kept": (0, (_counted(deep),)),
        "more rows than an int has": (4, (_counted({"aaaa1": 2**33, "aaaa2": 2**33 + 1, "b": 2**34}, unseen=2**32),)),
    }  # fmt: skip
    yield from (MetricsCase(f"rows: {name}", "string", kept, pools) for name, (kept, pools) in cases.items())
    for kept in range(1, 5):
        yield MetricsCase(f"rows: runs in runs, {kept} kept", "string", kept, (_counted(deep),))


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
            unseen = rng.randrange(9) if rng.random() < 0.2 else 0
            pools.append(_counted({value: rng.choice([1, 1, 2, 7, 300]) for value in values}, unseen))
        yield MetricsCase(f"random {number}", type_name, rng.choice([0, 1, 5, 16, 40]), tuple(pools))
