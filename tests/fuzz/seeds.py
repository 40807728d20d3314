"""Which seeds to run: a few, or those that the environment names."""

import os


def seeds(engine: str, few: int) -> range:
    """List the seeds of an engine's test."""
    if os.environ.get("ZORDER_FUZZ_ENGINE", engine) != engine:
        return range(0)
    if one := os.environ.get("ZORDER_FUZZ_SEED"):
        return range(int(one), int(one) + 1)
    first, _, end = os.environ.get("ZORDER_FUZZ_SEEDS", str(few)).rpartition(":")
    return range(int(first or 0), int(end))
