"""How well a table is clustered, from its metadata."""
