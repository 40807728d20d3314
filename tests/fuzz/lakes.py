"""A directory, a catalog, and the one table in it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.catalog import Store, StoreCatalog
from tests.fuzz.histories import History, Shape
from tests.fuzz.model import Model


@dataclass
class Lake:
    """A directory with a catalog and one random table."""

    directory: Path
    catalog: StoreCatalog
    history: History
    model: Model

    @property
    def location(self) -> str:
        return f"file://{self.directory}/t"


def lake(rng: random.Random, directory: Path, shape: Shape | None = None) -> Lake:
    """Make a lake whose table is still to be made."""
    store, model = Store(), Model()
    history = History(rng, StoreCatalog(store), model, shape or Shape())
    return Lake(directory, StoreCatalog(store), history, model)
