"""Reports and advice: read the inputs of ``metrics`` and ``advice`` from a table."""
