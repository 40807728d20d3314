"""Commits that replace data files in one snapshot, safe against concurrent writers."""
