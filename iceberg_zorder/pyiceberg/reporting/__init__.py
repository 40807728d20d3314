"""Reports and advice: read from a table what ``metrics`` and ``advice`` compute with."""
