"""The command line, ``iceberg-zorder``."""
