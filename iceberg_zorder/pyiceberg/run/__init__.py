"""Carry out rewrites: the file groups, several at a time, the whole of them, and what came of it."""
