"""What a seed is about: a product of closed lists, in which every type of key meets every partition transform."""

import random
from dataclasses import dataclass

from tests.spark.joins import values
from tests.spark.joins.statements import CHANGES
from tests.spark.joins.values import PAIRS, Scale

WRITERS = (
    *("text that is not UTF-8", "no bounds", "lower bounds only", "upper bounds only", "cut bounds", "inverted bounds"),
    *("bounds that do not decode", "no counts", "an empty file", "partition columns left out", "milliseconds"),
    *("equality deletes", "equality deletes with wrong values", "position deletes", "ORC", "Avro", "Spark"),
)
"""What other engines add to the table."""


@dataclass(frozen=True)
class Case:
    """One table, and the statement that changes it in the end."""

    seed: int
    type: str
    scale: Scale
    version: int
    mode: str
    nested: bool
    evolution: str  # or "none"
    writers: tuple[str, ...]
    clustered: bool
    change: str  # or nothing
    branch: bool  # where the other engines write
    vectorized: bool

    @property
    def transform(self) -> str:
        return self.scale.transform


def draw(seed: int) -> Case:
    """The case of a seed: so many seeds in a row as there are pairs have each pair once."""
    rng = random.Random(seed)
    of, transform = PAIRS[seed % len(PAIRS)]
    # From one round of the pairs to the next, each pair has another change.
    change = CHANGES[(seed + seed // len(PAIRS)) % len(CHANGES)]
    version = rng.choice([1, 2, 2, 3])
    return Case(
        seed,
        of,
        values.scale(rng, of, transform),
        version,
        "copy-on-write" if version == 1 else rng.choice(["copy-on-write", "merge-on-read"]),
        nested=rng.random() < 0.15,
        evolution=_evolution(rng, of, version),
        writers=_writers(rng, of, version),
        clustered=rng.random() < 0.85,
        change=change,
        branch=rng.random() < 0.25,
        vectorized=rng.random() < 0.5,
    )


def plain(place: int) -> Case:
    """The case of a pair that nothing else happens to; every fourth one's table is changed."""
    of, transform = PAIRS[place]
    by = values.scale(random.Random(place), of, transform)
    version = 2 + place % 2
    mode = ("copy-on-write", "merge-on-read")[place // 2 % 2]
    change = CHANGES[place // 4 % len(CHANGES)] if place % 4 == 0 else ""
    return Case(place, of, by, version, mode, False, "none", (), True, change, False, True)


def _evolution(rng: random.Random, of: str, version: int) -> str:
    """What happened to the key's column between the first files and the others."""
    found = ["rename", "drop and add", "added", "new spec"]
    found += ["promote"] * 2 * (of in values.NARROWER)
    # The API that makes these tables takes no literal of bytes.
    found += ["default"] * 2 * (version == 3 and of not in ("binary", "fixed[4]"))
    return "none" if rng.random() < 0.5 else rng.choice(found)


def _writers(rng: random.Random, of: str, version: int) -> tuple[str, ...]:
    of_types = {"text that is not UTF-8": of == "string", "milliseconds": of in ("timestamp", "timestamptz")}
    deletes = {"equality deletes", "equality deletes with wrong values", "position deletes"}
    known = [each for each in WRITERS if of_types.get(each, True) and (version > 1 or each not in deletes)]
    often = {"text that is not UTF-8": 30, "milliseconds": 4, "equality deletes with wrong values": 2}
    weights = [often.get(each, 1) for each in known]
    return tuple(dict.fromkeys(rng.choices(known, weights, k=rng.choice([0, 1, 1, 2]))))
