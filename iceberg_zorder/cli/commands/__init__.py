"""The commands: each calls an engine, and shows the result."""
