"""One seed: a random table, a rewrite of it, and all the checks."""

import random
import traceback
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.checks import Check
from tests.fuzz.disturbances import Disturbances
from tests.fuzz.engines import Engine, PyIceberg
from tests.fuzz.histories import lake
from tests.fuzz.readers import Duck
from tests.fuzz.requests import Request


class WrongAnswerError(AssertionError):
    """What is wrong after a rewrite, and how it came about."""


def run(
    seed: int,
    directory: Path,
    *,
    disturbed: bool | None = None,
    readers: Sequence[Duck] = (),
    engine: Engine | None = None,
) -> str:
    """Make a table, rewrite it, and check all that can be told; return what was done."""
    rng = random.Random(seed)
    made = lake(rng, directory)
    engine = engine or PyIceberg()
    made.history.for_spark = not isinstance(engine, PyIceberg)
    made.history.make(made.location)
    request = Request.draw(rng, made.history)
    disturbances = Disturbances(made.history)
    if rng.random() < 0.5 if disturbed is None else disturbed:
        disturbances = Disturbances.draw(rng, made.history)
    log = made.history.log
    where = f" where {request.where}" if request.where else ""
    log.append(f"rewrite by {request.columns} with {request.options}, {request.small}{where}")
    try:
        complaints = Check(made, request, disturbances, engine, readers).run(rng)
    except Exception as error:
        complaints = ["".join(traceback.format_exception(error))]
    if complaints:
        raise WrongAnswerError(account(seed, log, sorted(complaints, key=_lightness)))
    return "\n".join(log)


def _lightness(complaint: str) -> int:
    """Put what loses or doubles rows before what reads more than it need."""
    grave = (
        "rows changed",
        "such rows",
        "is below",
        "is above",
        "partition",
        "Traceback",
        "not rewritten",
        "left over",
    )
    return next((place for place, each in enumerate(grave) if each in complaint), len(grave))


def account(seed: int, log: list[str], complaints: list[str]) -> str:
    more = [f"... and {len(complaints) - 8} more"] if len(complaints) > 8 else []
    lines = [f"seed {seed}: ZORDER_FUZZ_SEED={seed} runs it alone", *log, *complaints[:8], *more]
    return "\n".join(line if len(line) < 2000 else f"{line[:500]}...{line[-1500:]}" for line in lines)
