"""Benchmarks: how well every layout prunes, and what it costs, side by side on the same rows. ``make bench``."""
