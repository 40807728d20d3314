"""The choice of row groups and rows for a sample, the same in both engines. Numpy only."""
