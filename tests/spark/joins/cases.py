"""What a seed is about: a product of closed lists, in which every type of key meets every partition transform."""

import random
from dataclasses import dataclass

from tests.spark.joins import values
from tests.spark.joins.statements import CHANGES
from tests.spark.joins.values import PAIRS, Scale
from tests.spark.tables import ICEBERG

EVOLUTIONS = ("none", "rename", "drop and add", "promote", "default", "added", "new spec")
"""What happened to the key's column between the first files and the others."""

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
    evolution: str
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
        writers=tuple(rng.sample(_writers(of, version), rng.choice([0, 1, 1, 2]))),
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
    if rng.random() < 0.5:
        return "none"
    found = rng.choice(EVOLUTIONS[1:])
    if found == "promote" and of not in values.NARROWER:
        return "rename"
    has_default = version == 3 and ICEBERG >= (1, 11) and of not in ("binary", "fixed[4]")
    return "added" if found == "default" and not has_default else found


def _writers(of: str, version: int) -> list[str]:
    left_out = set()
    if of != "string":
        left_out.add("text that is not UTF-8")
    if of not in ("timestamp", "timestamptz"):
        left_out.add("milliseconds")
    if version == 1:
        left_out |= {"equality deletes", "equality deletes with wrong values", "position deletes"}
    found = [each for each in WRITERS if each not in left_out]
    # What only some types have comes more often.
    return found + ["text that is not UTF-8"] * 8 * (of == "string") + ["milliseconds"] * 2 * ("timestamp" in of)
