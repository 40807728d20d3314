"""Golden cases of the cost of filters: file sizes by the data, and averages of costs."""

import random
from typing import Any

from iceberg_zorder.metrics.scan_cost import ideal_file_size, mean_cost

OPEN_COSTS = (1, 4096, 65_536, 1_000_000, 4 * 1024**2, 100_000_007, 1024**3)


def scan_cost_document() -> dict[str, Any]:
    """Every case, and what must come of it."""
    draw = random.Random("scan cost")
    sizes = [
        0,
        *(2**power + change for power in range(61) for change in (-1, 0, 1)),
        *(3 * 10**power for power in range(18)),
    ]
    sizes += [draw.randrange(2 ** draw.randrange(1, 61)) for _ in range(100)]
    return {
        "sizes": sizes,
        "ideal_file_size": [
            {
                "columns": columns,
                "open_cost": cost,
                "expected": [ideal_file_size(size, columns, cost) for size in sizes],
            }
            for columns in range(1, 9)
            for cost in OPEN_COSTS
        ],
        "mean_cost": [_averaged(draw) for _ in range(200)],
    }


def _averaged(draw: random.Random) -> dict[str, Any]:
    columns = draw.randrange(6)
    costs = [draw.choice([0.0, 7.0, draw.uniform(0, 10**9)]) for _ in range(columns)]
    weights = [draw.choice([0.0, 1.0, draw.uniform(0, 5)]) for _ in range(columns)]
    return {"costs": costs, "weights": weights, "expected": mean_cost(costs, weights)}
