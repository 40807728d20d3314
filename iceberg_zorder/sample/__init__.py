"""Which rows, and which row groups, are sampled: the same in both engines. Numpy only."""
