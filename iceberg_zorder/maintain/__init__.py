"""Scheduled maintenance: read a policy, observe its tables, decide which rewrites pay, run them."""
