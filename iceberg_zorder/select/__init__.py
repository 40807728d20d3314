"""The choice of data files: pure functions of file bounds and snapshots; Java's ``core/select/`` does the same."""
