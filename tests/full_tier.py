"""What goes to the full tier: tests by the name of their function, in `full_tier.yaml`, with the reason.

``test_x: 3`` keeps three of the function's cases in ``make test``, evenly spread; ``test_x: [a, b]`` those of these ids; ``test_x: 0`` none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

_LIST = Path(__file__).with_suffix(".yaml")


def mark_full_tier(items: Sequence[pytest.Item], root: Path) -> None:
    """Mark the tests that the list names.

    Raises
    ------
    pytest.UsageError
        When the list names a module that is not there, or a function that its module does not have.
    """
    cases: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        module, _, name = item.nodeid.partition("::")
        cases[module, name.partition("[")[0]].append(item)
    whole = {module for module, _ in cases if (root / module).is_file()}
    for reason, modules in yaml.safe_load(_LIST.read_text(encoding="utf-8")).items():
        for module, functions in modules.items():
            if not (root / module).is_file():
                raise pytest.UsageError(f"{_LIST.name} names {module}, which is not there")
            for name, stays in functions.items():
                found = cases.get((module, name), [])
                if not found and module in whole and _is_unknown(root / module, name):
                    raise pytest.UsageError(f"{_LIST.name} names {module}::{name}, which is not there")
                few = [item for item in found if item.get_closest_marker("full") is None]
                if isinstance(stays, int):
                    kept = [few[place * len(few) // stays] for place in range(min(stays, len(few)))]
                else:
                    kept = [item for item in few if item.nodeid.partition("[")[2].removesuffix("]") in stays]
                for item in few:
                    if item not in kept:
                        item.add_marker(pytest.mark.full(reason=reason))


def _is_unknown(module: Path, name: str) -> bool:
    """Whether a module defines no such function; one that is there may have been left out by the command line."""
    return f"def {name.rpartition('::')[2]}(" not in module.read_text(encoding="utf-8")
