"""The queries themselves, by bytes and by the clock, on the same tables in several layouts: ``make bench-queries``."""
