"""Which data files are rewritten, and which are left: what a selection is, and the one that there is."""
