"""New data files in place of old ones, in one snapshot, whatever other writers do meanwhile."""
