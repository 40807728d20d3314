"""How long trees take to grow for a workload, in numpy and in Java: ``make bench-growing``."""
