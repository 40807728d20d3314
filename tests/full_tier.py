"""`full_tier.yaml` lists tests that only the full tier runs, by reason, module and function.

``test_x: 3`` keeps three evenly spaced cases of the function in ``make test``, ``test_x: [a, b]`` the cases a and b, ``test_x: 0`` none.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

_LIST = Path(__file__).with_suffix(".yaml")


def mark_full_tier(items: Sequence[pytest.Item], root: Path) -> None:
    """Mark the tests that the list names."""
    cases: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        module, _, name = item.nodeid.partition("::")
        cases[module, name.partition("[")[0]].append(item)
    collected_modules = {module for module, _ in cases if (root / module).is_file()}
    for reason, modules in yaml.safe_load(_LIST.read_text(encoding="utf-8")).items():
        for module, functions in modules.items():
            if not (root / module).is_file():
                raise pytest.UsageError(f"{_LIST.name} names {module}, which is not there")
            for name, keep in functions.items():
                found = cases.get((module, name), [])
                if not found and module in collected_modules and _is_undefined(root / module, name):
                    raise pytest.UsageError(f"{_LIST.name} names {module}::{name}, which is not there")
                unmarked = [item for item in found if item.get_closest_marker("full") is None]
                if isinstance(keep, int):
                    kept = [unmarked[index * len(unmarked) // keep] for index in range(min(keep, len(unmarked)))]
                else:
                    kept = [item for item in unmarked if item.nodeid.partition("[")[2].removesuffix("]") in keep]
                for item in unmarked:
                    if item not in kept:
                        item.add_marker(pytest.mark.full(reason=reason))


def _is_undefined(module: Path, name: str) -> bool:
    """Whether the module does not define the function. The command line may deselect functions that it does define."""
    return f"def {name.rpartition('::')[2]}(" not in module.read_text(encoding="utf-8")
