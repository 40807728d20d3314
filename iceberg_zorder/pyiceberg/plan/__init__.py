"""Which data files are rewritten together, in what order their rows come, and by which layout: no row is written."""
